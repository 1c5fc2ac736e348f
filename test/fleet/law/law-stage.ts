import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { connect } from '../../bus/bus-fixture.ts'
import { startMosquitto } from '../../bus/mosquitto.ts'
import { type NatsServer, startNatsServer } from '../../helpers/nats-server.ts'
import { createTcpProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import type { LawAct, LawHostOptions } from './law-host.ts'

/** A fleet of real processes on a real store and a real broker, and a witness outside who sees each act. */
export interface LawStage {
  readonly store: NatsServer
  readonly hosts: LawHost[]
  readonly plugins: readonly string[]
  /** Sentences about what must not be. */
  readonly breaches: string[]
  readonly acts: number
  /** The last act of a plugin that was seen. */
  last(plugin: string): LawAct | undefined
  /** Plugins whose last act was of that host. */
  pluginsOf(host: LawHost): string[]
  /** Resolves when each of the plugins has acted under a newer epoch than now. Answers the milliseconds that it took. */
  moved(plugins: readonly string[]): Promise<number>
  /** The host with the most plugins comes first. */
  busiest(): [LawHost, ...LawHost[]]
  /** Resolves when each plugin has acted from now on. */
  allAct(): Promise<void>
}

/** Milliseconds within which others have the plugins of a host that is dead or cut off. */
export const takeOverLimit = 10_000

export interface LawHost {
  readonly name: string
  readonly toStore: TcpProxy
  readonly toBroker: TcpProxy
  start(): void
  signal(signal: NodeJS.Signals): void
  /** Sends a signal that ends it, and waits for that. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  /** What it has written: nothing, unless something is wrong. */
  output(): string
}

const program = join(import.meta.dirname, 'law-host.ts')

export async function createLawStage(
  context: TestContext,
  { hosts: count, fence }: { hosts: number; fence: boolean },
): Promise<LawStage> {
  const folder = await temporaryDirectory(context)
  const store = await startNatsServer(folder)
  context.after(() => store.stop())
  const mosquitto = await startMosquitto(context)
  const plugins = Array.from({ length: 6 }, (_, index) => `@law/p${index}`)
  const seen = new Map<string, LawAct>()
  const owners = new Map<string, string>()
  const breaches: string[] = []
  let acts = 0

  function witness(act: LawAct): void {
    const { plugin, host, session, epoch } = act
    acts += 1
    const known = seen.get(plugin)
    if (known !== undefined && epoch < known.epoch) {
      breaches.push(
        `${host} acts as ${plugin} under epoch ${epoch}, after ${known.host} under ${known.epoch}`,
      )
      return
    }
    seen.set(plugin, act)
    const owner = owners.get(`${plugin} ${epoch}`) ?? session
    owners.set(`${plugin} ${epoch}`, owner)
    if (owner !== session) breaches.push(`${owner} and ${session} act as ${plugin} under epoch ${epoch}`)
  }

  const client = await connect(context, mosquitto.url)
  client.on('message', (_topic, payload) => witness(JSON.parse(payload.toString())))
  await client.subscribeAsync('law/#')

  async function createHost(name: string): Promise<LawHost> {
    const toStore = await createTcpProxy(context, store.url)
    const toBroker = await createTcpProxy(context, mosquitto.url)
    const directory = join(folder, name)
    await mkdir(directory)
    const options: LawHostOptions = {
      store: `nats://127.0.0.1:${toStore.port}`,
      broker: `mqtt://127.0.0.1:${toBroker.port}`,
      ...{ fleet: 'law', host: name, directory, plugins, fence, hosts: count },
    }
    let child: ChildProcess | undefined
    let output = ''

    async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
      const ending = child
      child = undefined
      if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
      const exited = once(ending, 'exit')
      ending.kill(signal)
      await exited
    }

    context.after(() => end('SIGKILL'))
    return {
      ...{ name, toStore, toBroker, end },
      start() {
        child = spawn(process.execPath, ['--import', 'tsx', program, JSON.stringify(options)], {
          stdio: ['ignore', 'ignore', 'pipe'],
        })
        child.stderr?.on('data', (chunk) => (output += chunk))
      },
      signal: (signal) => void child?.kill(signal),
      output: () => output,
    }
  }

  const names = Array.from({ length: count }, (_, index) => `h${index}`)
  const hosts = await Promise.all(names.map(createHost))
  for (const host of hosts) host.start()

  const stage: LawStage = {
    ...{ store, hosts, plugins, breaches },
    get acts() {
      return acts
    },
    last: (plugin) => seen.get(plugin),
    pluginsOf: ({ name }) => plugins.filter((plugin) => seen.get(plugin)?.host === name),
    busiest() {
      const sorted = hosts.toSorted(
        (left, right) => stage.pluginsOf(right).length - stage.pluginsOf(left).length,
      )
      const [first, ...others] = sorted
      if (first === undefined) throw new Error('There are hosts')
      return [first, ...others]
    },
    async moved(which) {
      const begin = performance.now()
      const before = new Map(which.map((plugin) => [plugin, seen.get(plugin)?.epoch ?? 0]))
      await until(`${which.join()} to move`, async () =>
        which.every((plugin) => (seen.get(plugin)?.epoch ?? 0) > (before.get(plugin) ?? 0)),
      )
      return performance.now() - begin
    },
    async allAct() {
      const before = new Map(seen)
      await until('all plugins to act', async () =>
        plugins.every((plugin) => seen.get(plugin) !== undefined && seen.get(plugin) !== before.get(plugin)),
      )
    },
  }
  await stage.allAct()
  return stage
}
