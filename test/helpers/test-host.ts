import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { type Logger, silentLogger } from '../../src/base/log/log.ts'
import { createHost, type Host } from '../../src/host/host.ts'
import type { Announcement } from '../../src/lifecycle/lifecycle.ts'
import type { RestartPolicy } from '../../src/lifecycle/loading/restart-policy.ts'
import type { FindersSettings } from '../../src/outside/outside.ts'
import type { SandboxLimits } from '../../src/sandbox/limits.ts'
import type { Settings } from '../../src/settings/settings.ts'
import { type FixturePlugin, standardFixtures, writeFixtureRepository } from './fixture-repository.ts'

const programDirectory = join(import.meta.dirname, '..', '..')

/** The host's version, as package.json has it. */
export const hostVersion: string = JSON.parse(
  readFileSync(join(programDirectory, 'package.json'), 'utf8'),
).version

export interface TestAnswer {
  status: number
  headers: Headers
  /** Parsed when it is JSON, else text. */
  body: any
}

export interface TestHost {
  /** Base URL of the HTTP API. */
  url: string
  mqttUrl: string
  /** The data directory. */
  directory: string
  /** Folder of the repository named `fixtures` (namespace `fixtures`). */
  repository: string
  host: Host
  request(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<TestAnswer>
  /** Publishes other plugins, or other versions, in the fixture repository. */
  publish(plugins: readonly FixturePlugin[]): Promise<void>
  /** Ends the host and starts one on the same data directory. */
  restart(): Promise<TestHost>
  /** Ends the host and removes its directory. Idempotent. */
  close(): Promise<void>
}

export interface TestHostOptions {
  settings?: Partial<Settings>
  plugins?: readonly FixturePlugin[]
  /** Content of `.host.json` before the first start; default: the fixture repository and no plugin. */
  hostFile?: object
  environment?: Record<string, string>
  clock?: Clock
  logger?: Logger
  /** A file system that fails, for instance. */
  files?: FileSystem
  limits?: Partial<SandboxLimits>
  restartPolicy?: RestartPolicy
  /** Where the network is looked at; default: nowhere. */
  discovery?: FindersSettings
  /** Small ones, so that the journal has many. */
  segmentBytes?: number
  /** Ends the start. */
  interrupt?: AbortSignal
}

/** A real host in this process, on free ports and in a folder of its own. */
export async function startTestHost(options: TestHostOptions = {}): Promise<TestHost> {
  const base = await mkdtemp(join(tmpdir(), 'lupine-host-'))
  const directory = join(base, 'data')
  const repository = join(base, 'repository')
  await writeFixtureRepository(repository, options.plugins ?? standardFixtures)
  await mkdir(directory)
  const hostFile = options.hostFile ?? { repositories: [{ name: 'fixtures', url: repository }] }
  await writeFile(join(directory, '.host.json'), JSON.stringify(hostFile))
  // A worker or a write that is being ended at the same time may still write there.
  const remove = (): Promise<void> => rm(base, { recursive: true, force: true, maxRetries: 5 })
  try {
    return await start(directory, repository, options, remove)
  } catch (error) {
    await remove()
    throw error
  }
}

/** The same for one test, with which it ends, also where it was restarted. */
export async function startHostFor(
  context: Pick<TestContext, 'after'>,
  options: TestHostOptions = {},
): Promise<TestHost> {
  let latest = await startTestHost(options)
  context.after(() => latest.close())
  const restartable = (host: TestHost): TestHost => ({
    ...host,
    async restart() {
      latest = await host.restart()
      return restartable(latest)
    },
  })
  return restartable(latest)
}

/** A command on plugins that succeeds: `install`, or `<id>/toggle` and the like. Answers the plugin. */
export async function command(host: TestHost, path: string, body?: object): Promise<any> {
  const answer = await host.request('POST', `/api/plugins/${path}`, { body })
  assert.equal(answer.status, path === 'install' ? 201 : 200, `${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Has a fixture installed and switched on. Answers the plugin. */
export async function installAndStart(host: TestHost, id: string): Promise<any> {
  await command(host, 'install', { fullId: `@fixtures/${id}` })
  return command(host, `${id}/toggle`)
}

/** What stands in the log of a plugin, the oldest line first. `query`: of the request. */
export async function logMessages(host: TestHost, id: string, query = ''): Promise<string[]> {
  const { body } = await host.request('GET', `/api/plugins/${id}/logs${query}`)
  return body.logs.map(({ message }: { message: string }) => message)
}

/** Resolves with the next announcement that is wanted. */
export function announced(
  host: TestHost,
  wanted: (announcement: Announcement) => boolean,
): Promise<Announcement> {
  return new Promise((resolve) => {
    const stop = host.host.lifecycle.subscribe((announcement) => {
      if (!wanted(announcement)) return
      stop()
      resolve(announcement)
    })
  })
}

/** Resolves with the next fact of this type. */
export async function nextFact(host: TestHost, type: string): Promise<any> {
  const announcement = await announced(host, (one) => one.kind === 'lifecycle' && one.event.type === type)
  return announcement.kind === 'lifecycle' && announcement.event
}

/** Settings of a test host: free ports, nothing from the environment. */
export function testSettings(dataDirectory: string, changes: Partial<Settings> = {}): Settings {
  return {
    dataDirectory,
    hostId: undefined,
    httpBind: '127.0.0.1',
    httpPort: 0,
    publicUrl: undefined,
    trustedProxies: [],
    mqttBind: '127.0.0.1',
    mqttPort: 0,
    mqttUrl: undefined,
    mqttRoot: 'host',
    mqttConnections: 2_000,
    mqttConnectionsPerAddress: 250,
    token: undefined,
    tokenFile: undefined,
    tlsCertFile: undefined,
    tlsKeyFile: undefined,
    secretKeyFile: undefined,
    logLevel: 'warn',
    logFormat: 'json',
    isolation: 'auto',
    safeMode: false,
    discoveryPrefix: '',
    httpRewrite: {},
    pluginLimits: {},
    pluginEnvironment: undefined,
    fleet: undefined,
    ...changes,
  }
}

/** A real host in a directory that is there; its end leaves that as it is. */
export function openTestHost(
  directory: string,
  repository: string,
  options: TestHostOptions,
): Promise<TestHost> {
  return start(directory, repository, options, async () => undefined)
}

async function start(
  directory: string,
  repository: string,
  options: TestHostOptions,
  remove: () => Promise<void>,
): Promise<TestHost> {
  const host = await createHost({
    settings: testSettings(directory, options.settings),
    logger: options.logger ?? silentLogger,
    programDirectory,
    hostVersion,
    environment: options.environment ?? {},
    ...(options.interrupt === undefined ? {} : { interrupt: options.interrupt }),
    clock: options.clock ?? systemClock,
    files: options.files ?? systemFileSystem,
    discovery: options.discovery ?? { networks: () => ({}) },
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.segmentBytes === undefined ? {} : { segmentBytes: options.segmentBytes }),
    ...(options.restartPolicy === undefined ? {} : { restartPolicy: options.restartPolicy }),
  })
  const token = options.settings?.token
  return {
    url: host.http,
    mqttUrl: host.mqtt,
    directory,
    repository,
    host,
    async request(method, path, { body, headers = {} } = {}) {
      const answer = await fetch(new URL(path, host.http), {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        redirect: 'manual',
      })
      const text = await answer.text()
      const isJson = answer.headers.get('content-type')?.includes('json') ?? false
      return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text }
    },
    publish: (plugins) => writeFixtureRepository(repository, plugins),
    async restart() {
      await host.close()
      return start(directory, repository, options, remove)
    },
    async close() {
      await host.close()
      await remove()
    },
  }
}
