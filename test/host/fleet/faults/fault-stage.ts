import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Mosquitto, startMosquitto } from '../../../bus/mosquitto.ts'
import { writeFixtureRepository } from '../../../helpers/fixture-repository.ts'
import { launchHostProcess, type LaunchedProcess } from '../../../helpers/host-process.ts'
import { createTcpProxy, type TcpProxy } from '../../../helpers/tcp-proxy.ts'
import { temporaryDirectory } from '../../../helpers/temporary-directory.ts'
import { until } from '../../../helpers/until.ts'
import { type Callers, readHistory, requireOnce, startCallers } from './callers.ts'
import { countingLua, startWitness, type Witness } from './witness.ts'

/**
 * A fleet of built programs, each a process of its own with its own way to the store and to the broker; counting plugins that
 * a witness outside sees; and callers who keep commands going.
 */
export interface FaultStage {
  readonly witness: Witness
  readonly mosquitto: Mosquitto
  readonly hosts: readonly FaultHost[]
  /** Plugins that count. */
  readonly plugins: readonly string[]
  readonly callers: Callers
  /** Plugins whose last act was of that host. */
  pluginsOf(host: FaultHost): string[]
  /** The host with the most plugins comes first. */
  busiest(): [FaultHost, ...FaultHost[]]
  /** Resolves when each of the plugins has acted under a newer epoch than now. Answers the milliseconds that it took. */
  moved(plugins: readonly string[]): Promise<number>
  /** Resolves when each plugin has acted from now on. */
  allAct(): Promise<void>
  /** The callers come to an end; then nothing was lost, nothing was done twice, and everything runs. */
  requireAllWell(): Promise<void>
}

export interface FaultHost {
  readonly id: string
  /** The ways to all servers of the store, which go together. */
  readonly toStore: Pick<TcpProxy, 'hold' | 'pass' | 'refuse'>
  readonly toBroker: TcpProxy
  /** Base address over HTTP; undefined: it has not said that it is ready, or is ended. */
  readonly http: string | undefined
  /** Starts it, in the same directory each time. Resolves when it is ready. */
  start(): Promise<void>
  signal(signal: NodeJS.Signals): void
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  request(method: string, path: string): Promise<void>
  /** Whether it has plugins, also such that do not count. */
  hasPlugins(): Promise<boolean>
  /** Whether it says that it is ready. */
  isReady(): Promise<boolean>
  output(): string
  /** What it said last when it ended without having been told to. */
  readonly ended: string | undefined
}

const ids = ['h0', 'h1', 'h2']
const shortIds = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5']
/** These are only configured, and switched on and off. */
const quiet = ['q0', 'q1', 'q2', 't0', 't1']
const fullId = (id: string): string => `@fixtures/${id}`

export async function createFaultStage(
  context: TestContext,
  storeUrls: readonly string[],
): Promise<FaultStage> {
  const folder = await temporaryDirectory(context)
  // Else a witness that is slow for a second gets messages of QoS 1 later than those of QoS 0 that were sent after them: the
  // broker has 20 of the former on the way at a time, and lets the others overtake.
  const mosquitto = await startMosquitto(context, ['allow_anonymous true', 'max_inflight_messages 0'])
  const witness = await startWitness(context, mosquitto.url)
  const repository = join(folder, 'repository')
  await writeFixtureRepository(repository, [
    ...shortIds.map((id) => ({ id, lua: countingLua(id, witness) })),
    ...quiet.map((id) => ({ id, lua: `return Plugin:new("${id}", {})` })),
  ])
  const key = join(folder, 'key')
  await writeFile(key, randomBytes(32).toString('base64'), { mode: 0o600 })

  async function createHost(id: string): Promise<FaultHost> {
    const ways = await Promise.all(storeUrls.map((url) => createTcpProxy(context, url)))
    const toBroker = await createTcpProxy(context, mosquitto.url)
    let launched: LaunchedProcess | undefined
    let http: string | undefined
    let output = ''
    let ended: string | undefined

    async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
      const ending = launched
      launched = undefined
      http = undefined
      const code = await ending?.stop(signal)
      output += ending?.output() ?? ''
      if (signal === 'SIGTERM') assert.equal(code, 0, output)
    }

    context.after(() => end('SIGKILL'))
    return {
      ...{ id, toBroker, end },
      toStore: {
        hold: () => ways.forEach((way) => way.hold()),
        pass: () => ways.forEach((way) => way.pass()),
        refuse: () => ways.forEach((way) => way.refuse()),
      },
      get http() {
        return http
      },
      get ended() {
        return ended
      },
      async start() {
        const started = launchHostProcess(join(folder, id), {
          environment: {
            HOST_ID: id,
            HOST_FLEET: 'faults',
            HOST_FLEET_URL: ways.map(({ port }) => `nats://127.0.0.1:${port}`).join(','),
            HOST_MQTT_URL: `mqtt://127.0.0.1:${toBroker.port}`,
            HOST_SECRET_KEY_FILE: key,
          },
        })
        launched = started
        started.process.once('exit', () => {
          if (launched === started) ended = started.output().split('\n').slice(-5).join('\n')
        })
        http = String((await started.ready).http)
      },
      signal: (signal) => void launched?.process.kill(signal),
      async request(method, path) {
        const answer = await fetch(`${http}${path}`, { method })
        assert.ok(answer.ok, `${method} ${path}: ${await answer.text()}`)
      },
      async hasPlugins() {
        const answer = await fetch(`${http}/api/hosts`)
        const { hosts: all } = (await answer.json()) as { hosts: { id: string; plugins: number }[] }
        return all.some((host) => host.id === id && host.plugins > 0)
      },
      async isReady() {
        return (await fetch(`${http}/readyz`)).ok
      },
      output: () => output + (launched?.output() ?? ''),
    }
  }

  const hosts = await Promise.all(ids.map(createHost))
  await Promise.all(hosts.map((host) => host.start()))
  const addresses = (): string[] => hosts.flatMap(({ http }) => http ?? [])

  const plugins = shortIds.map(fullId)
  await post('/api/repositories', { name: 'fixtures', url: repository })
  for (const id of [...shortIds, ...quiet].map(fullId)) await post('/api/plugins/install', { fullId: id })
  for (const id of plugins) await post(`/api/plugins/${encodeURIComponent(id)}/toggle`, { enabled: true })

  async function post(path: string, body: object): Promise<void> {
    const answer = await fetch(`${hosts[0]?.http}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.ok(answer.ok, `${path} ${JSON.stringify(body)}: ${answer.ok ? '' : await answer.text()}`)
  }

  async function allAct(): Promise<void> {
    const before = new Map(plugins.map((plugin) => [plugin, witness.last(plugin)]))
    await until('all plugins to act', async () =>
      plugins.every(
        (plugin) => witness.last(plugin) !== undefined && witness.last(plugin) !== before.get(plugin),
      ),
    )
  }
  await allAct()
  const callers = await startCallers({
    hosts: addresses,
    broker: mosquitto.url,
    plugins: {
      http: ['q0', 'q1', 'p0'].map(fullId),
      mqtt: ['q2', 'p1'].map(fullId),
      flipped: ['t0', 't1'].map(fullId),
    },
  })

  context.after(() => callers.close())

  const stage: FaultStage = {
    ...{ witness, mosquitto, hosts, plugins, callers, allAct },
    pluginsOf: ({ id }) => plugins.filter((plugin) => witness.last(plugin)?.host === id),
    busiest() {
      const [first, ...others] = hosts.toSorted(
        (left, right) => stage.pluginsOf(right).length - stage.pluginsOf(left).length,
      )
      assert.ok(first !== undefined)
      return [first, ...others]
    },
    async moved(which) {
      const begin = performance.now()
      const before = new Map(which.map((plugin) => [plugin, witness.last(plugin)?.epoch ?? 0]))
      await until(`${which.join()} to move`, async () =>
        which.every((plugin) => (witness.last(plugin)?.epoch ?? 0) > (before.get(plugin) ?? 0)),
      )
      return performance.now() - begin
    },
    async requireAllWell() {
      assert.deepEqual(
        hosts.flatMap((host) => host.ended ?? []),
        [],
        'hosts that ended by themselves',
      )
      await callers.finish()
      await allAct()
      for (const host of addresses()) {
        await until(`every enabled plugin to run, says ${host}`, async () => {
          const answer = await fetch(`${host}/api/plugins`)
          const { plugins: all } = (await answer.json()) as { plugins: { enabled: boolean; state: string }[] }
          return all.every(({ enabled, state }) => !enabled || state === 'running')
        })
      }
      const [history = [], ...others] = await Promise.all(addresses().map(readHistory))
      for (const other of others)
        assert.deepEqual(
          other.map(({ id }) => id).slice(0, history.length),
          history.map(({ id }) => id).slice(0, other.length),
        )
      requireOnce(history, callers)
      assert.deepEqual(callers.surprises, [])
      assert.deepEqual(witness.breaches, [])
      context.diagnostic(
        `${callers.acknowledged} commands acknowledged, ${callers.repeated} of them sent again; ` +
          `${witness.counts.mqtt} messages and ${witness.counts.http} requests seen`,
      )
    },
  }
  return stage
}
