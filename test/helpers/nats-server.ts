import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/** A real nats-server with JetStream, its files below `directory`. */
export interface NatsServer {
  readonly url: string
  /** Ends the process at once, or lets it stop. */
  stop(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>
  /** Starts it again on the same port and files. */
  start(): Promise<void>
}

export interface NatsServerOptions {
  /** Lines of its configuration beside port and store. */
  lines?: string[]
  jetStream?: boolean
}

export async function startNatsServer(
  directory: string,
  options: NatsServerOptions = {},
): Promise<NatsServer> {
  const { lines = [], jetStream = true } = options
  const home = join(directory, 'nats-server')
  const portsFolder = join(home, 'ports')
  const file = join(home, 'nats.conf')
  await mkdir(portsFolder, { recursive: true })
  let child: ChildProcess | undefined
  let port = -1

  async function start(): Promise<void> {
    const store = jetStream ? [`jetstream { store_dir: ${JSON.stringify(join(home, 'store'))} }`] : []
    await writeFile(file, ['listen: "127.0.0.1:' + String(port) + '"', ...store, ...lines].join('\n'))
    for (const name of await readdir(portsFolder)) await rm(join(portsFolder, name))
    child = spawn('nats-server', ['--config', file, '--ports_file_dir', portsFolder], {
      env: { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin` },
      stdio: 'ignore',
    })
    const failed = once(child, 'error').then(([error]) => {
      throw error
    })
    port = await Promise.race([portOf(child), failed])
  }

  /** The server writes the file when it listens. */
  async function portOf(process: ChildProcess): Promise<number> {
    for (;;) {
      if (process.exitCode !== null) throw new Error(`nats-server ended with ${process.exitCode}`)
      const [name] = await readdir(portsFolder)
      const text = name === undefined ? '' : await readFile(join(portsFolder, name), 'utf8')
      if (text.endsWith('}')) return Number(new URL(JSON.parse(text).nats[0]).port)
      await setTimeout(10)
    }
  }

  await start()
  return {
    get url() {
      return `nats://127.0.0.1:${port}`
    },
    start,
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
