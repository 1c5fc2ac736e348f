import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Clock } from '../../../src/base/time/clock.ts'
import type { FileSystem } from '../../../src/base/files/file-system.ts'
import type { Logger } from '../../../src/base/log/log.ts'
import type { Plugin } from '../../../src/schema/plugin/plugin.ts'
import type { Settings } from '../../../src/settings/settings.ts'
import { startMosquitto } from '../../bus/mosquitto.ts'
import {
  type FixturePlugin,
  standardFixtures,
  writeFixtureRepository,
} from '../../helpers/fixture-repository.ts'
import { type NatsServer, startNatsServer } from '../../helpers/nats-server.ts'
import { openTestHost, type TestHost } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'

/** Hosts of a fleet in this process, on a real store and a real broker. */
export interface FleetStage {
  readonly nats: NatsServer
  /** Address of the broker. */
  readonly broker: string
  /** Starts a host of this name; one that was closed comes back in its directory. */
  start(id: string, options?: StageHostOptions): Promise<TestHost>
  /** Publishes other plugins, or other versions, in the folder repository `fixtures` that all hosts have. */
  publish(plugins: readonly FixturePlugin[]): Promise<void>
}

export interface StageHostOptions {
  labels?: string[]
  logger?: Logger
  clock?: Clock
  /** A file system that fails, for instance. */
  files?: FileSystem
  /** Another store address: a proxy, say. */
  store?: string
  settings?: Partial<Settings>
  /** Another directory than that of its name. */
  directory?: string
  /** Ends the start. */
  interrupt?: AbortSignal
}

export async function startFleetStage(
  t: TestContext,
  plugins: readonly FixturePlugin[],
): Promise<FleetStage> {
  const base = await mkdtemp(join(tmpdir(), 'lupine-fleet-hosts-'))
  const nats = await startNatsServer(base)
  const mosquitto = await startMosquitto(t)
  const repository = join(base, 'repository')
  await writeFixtureRepository(repository, plugins)
  const key = join(base, 'key')
  await writeFile(key, randomBytes(32).toString('base64'), { mode: 0o600 })
  const hosts = new Set<TestHost>()
  t.after(async () => {
    for (const host of hosts) await host.host.close()
    await nats.stop()
    await rm(base, { recursive: true, force: true })
  })
  let isFirst = true
  return {
    nats,
    broker: mosquitto.url,
    publish: (others) => writeFixtureRepository(repository, others),
    async start(
      id,
      { labels = [], logger, clock, files, store = nats.url, settings = {}, directory = id, interrupt } = {},
    ) {
      const path = join(base, directory)
      await mkdir(path, { recursive: true })
      const host = await openTestHost(path, repository, {
        ...(logger === undefined ? {} : { logger }),
        ...(clock === undefined ? {} : { clock }),
        ...(files === undefined ? {} : { files }),
        ...(interrupt === undefined ? {} : { interrupt }),
        settings: {
          hostId: id,
          mqttUrl: mosquitto.url,
          secretKeyFile: key,
          fleet: {
            ...{ servers: [store], fleet: 'test', labels },
            ...{ credentialsFile: undefined, passwordFile: undefined, caFile: undefined },
          },
          ...settings,
        },
      })
      hosts.add(host)
      if (isFirst)
        await host.request('POST', '/api/repositories', { body: { name: 'fixtures', url: repository } })
      isFirst = false
      return host
    },
  }
}

/** What one host says of a plugin, once it is so. */
export function untilPlugin(
  host: TestHost,
  id: string,
  what: string,
  isSo: (plugin: Plugin) => boolean,
): Promise<Plugin> {
  return until(`${id} ${what}`, async () => {
    const { status, body } = await host.request('GET', `/api/plugins/${encodeURIComponent(id)}`)
    return status === 200 && isSo(body as Plugin) ? (body as Plugin) : undefined
  })
}

/** One with the host a, which has the fixture demo. */
export async function stageWithDemo(context: TestContext) {
  const stage = await startFleetStage(context, standardFixtures)
  const a = await stage.start('a')
  await install(a, '@fixtures/demo')
  return { stage, a }
}

/** Installs a plugin and switches it on, through one host. */
export async function install(host: TestHost, id: string): Promise<Plugin> {
  await host.request('POST', '/api/plugins/install', { body: { fullId: id } })
  const { body } = await host.request('POST', `/api/plugins/${encodeURIComponent(id)}/toggle`, {
    body: { enabled: true },
  })
  return body as Plugin
}
