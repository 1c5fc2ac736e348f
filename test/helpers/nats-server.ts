import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { connectStore, type StoreConnection } from '../../src/fleet/store/connect-store.ts'
import { temporaryDirectory } from './temporary-directory.ts'

/** A real nats-server with JetStream, its files below `directory`. */
export interface NatsServer {
  readonly url: string
  /** Where it takes WebSockets, if a line of its configuration says that it does. */
  readonly webSocketUrl: string
  /** Where other servers of its cluster find it. */
  readonly clusterUrl: string
  /** Ends the process at once, or lets it stop. */
  stop(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>
  /** Starts it again on the same port and files. */
  start(): Promise<void>
  /** Of one of a cluster: whether it has all that the others have. */
  isCurrent(): Promise<boolean>
}

export interface NatsServerOptions {
  /** Lines of its configuration beside port and store. */
  lines?: string[]
  jetStream?: boolean
  /** Bytes that it keeps at most. */
  room?: number
  /** Program and arguments before its own command. */
  within?: readonly string[]
  /** As one of several: its name, and where another one is. */
  cluster?: { name: string; routes: string[] }
}

export async function startNatsServer(
  directory: string,
  options: NatsServerOptions = {},
): Promise<NatsServer> {
  const { lines = [], jetStream = true, room, within = [], cluster } = options
  const home = join(directory, 'nats-server')
  const portsFolder = join(home, 'ports')
  const file = join(home, 'nats.conf')
  await mkdir(portsFolder, { recursive: true })
  let child: ChildProcess | undefined
  let port = -1
  let clusterPort = -1
  let webSocketUrl = ''
  let monitoringUrl = ''

  async function start(): Promise<void> {
    const limit = room === undefined ? '' : `, max_file_store: ${room}`
    const store = jetStream ? [`jetstream { store_dir: ${JSON.stringify(join(home, 'store'))}${limit} }`] : []
    const member =
      cluster === undefined
        ? []
        : [
            `server_name: ${cluster.name}`,
            'http: "127.0.0.1:-1"',
            `cluster { name: test, listen: "127.0.0.1:${clusterPort}", routes: ${JSON.stringify(cluster.routes)} }`,
          ]
    await writeFile(file, [`listen: "127.0.0.1:${port}"`, ...store, ...member, ...lines].join('\n'))
    for (const name of await readdir(portsFolder)) await rm(join(portsFolder, name))
    const command = [...within, 'nats-server', '--config', file, '--ports_file_dir', portsFolder]
    child = spawn(command[0] ?? '', command.slice(1), {
      env: { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin` },
      stdio: 'ignore',
    })
    const failed = once(child, 'error').then(([error]) => {
      throw error
    })
    const ports = await Promise.race([portsOf(child), failed])
    port = portIn(ports.nats)
    webSocketUrl = ports.websocket?.[0] ?? ''
    monitoringUrl = ports.monitoring?.[0] ?? ''
    if (cluster !== undefined) clusterPort = portIn(ports.cluster)
  }

  /** The server writes the file when it listens. */
  async function portsOf(process: ChildProcess): Promise<Ports> {
    for (;;) {
      if (process.exitCode !== null) throw new Error(`nats-server ended with ${process.exitCode}`)
      const [name] = await readdir(portsFolder)
      const text = name === undefined ? '' : await readFile(join(portsFolder, name), 'utf8')
      if (text.endsWith('}')) return JSON.parse(text)
      await setTimeout(10)
    }
  }

  await start()
  return {
    get url() {
      return `nats://127.0.0.1:${port}`
    },
    get webSocketUrl() {
      return webSocketUrl
    },
    get clusterUrl() {
      return `nats://127.0.0.1:${clusterPort}`
    },
    start,
    isCurrent: async () => (await fetch(`${monitoringUrl}/healthz`)).ok,
    async stop(signal = 'SIGKILL') {
      const ending = child
      child = undefined
      if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
      const ended = once(ending, 'exit')
      ending.kill(signal)
      await ended
    },
  }
}

/** What the server says of itself, as URLs. */
interface Ports {
  nats?: string[]
  cluster?: string[]
  websocket?: string[]
  monitoring?: string[]
}

function portIn(urls: string[] | undefined): number {
  return Number(new URL(urls?.[0] ?? '').port)
}

/** Servers `n0`, `n1` and `n2` that keep their streams together. */
export async function startNatsCluster(directory: string): Promise<NatsServer[]> {
  const servers: NatsServer[] = []
  for (const name of ['n0', 'n1', 'n2']) {
    // The first one has nobody to go to, and does not start without naming somebody.
    const routes = servers.length === 0 ? ['nats://127.0.0.1:1'] : servers.map(({ clusterUrl }) => clusterUrl)
    servers.push(await startNatsServer(join(directory, name), { cluster: { name, routes } }))
  }
  return servers
}

/** One of its own for a test. */
export async function startStore(context: TestContext, options: NatsServerOptions = {}): Promise<NatsServer> {
  const server = await startNatsServer(await temporaryDirectory(context), options)
  context.after(() => server.stop())
  return server
}

/** A cluster of its own for a test. */
export async function startStoreCluster(context: TestContext): Promise<NatsServer[]> {
  const servers = await startNatsCluster(await temporaryDirectory(context))
  context.after(() => Promise.all(servers.map((server) => server.stop())))
  return servers
}

/** A connection to one, or to a cluster, that ends with the test. */
export async function connectTo(context: TestContext, ...servers: string[]): Promise<StoreConnection> {
  const connection = await connectStore({ servers, name: 'test' })
  context.after(() => connection.close())
  return connection
}
