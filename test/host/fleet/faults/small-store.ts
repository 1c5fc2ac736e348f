import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { systemErrorCode } from '../../../../src/base/problem.ts'
import { type NatsServer, startNatsServer } from '../../../helpers/nats-server.ts'
import { temporaryDirectory } from '../../../helpers/temporary-directory.ts'

/** A store on a small file system of its own, which only processes within its namespace see. */
export interface SmallStore {
  readonly server: NatsServer
  /** Leaves no byte free. */
  fill(): Promise<void>
  makeRoom(): Promise<void>
}

const run = promisify(execFile)
const megabytes = 24
const script = 'mount -t tmpfs -o size="$1"m,mode=700 tmpfs "$2" && echo mounted && exec cat'

/** Why no file system can be mounted here; undefined: it can. */
export function mountingRefused(): Promise<string | undefined> {
  return run('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).then(
    () => undefined,
    (error: unknown) => String((error as { stderr?: string }).stderr ?? error).trim(),
  )
}

export async function startSmallStore(context: TestContext): Promise<SmallStore> {
  const folder = await temporaryDirectory(context)
  const mountPoint = join(folder, 'nats-server', 'store')
  await mkdir(mountPoint, { recursive: true })
  // The file system lives as long as this one, whatever happens to the server.
  const holder = spawn('unshare', ['-rm', 'sh', '-c', script, 'sh', String(megabytes), mountPoint], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  context.after(async () => {
    const ended = once(holder, 'exit')
    holder.stdin.end()
    await ended
  })
  await once(holder.stdout, 'data')
  const within = ['nsenter', `--target=${holder.pid}`, '--mount', '--user', '--preserve-credentials']
  const server = await startNatsServer(folder, { within })
  context.after(() => server.stop())
  const filler = join(`/proc/${holder.pid}/root`, mountPoint, 'filler')
  return {
    server,
    async fill() {
      for (const bytes of [1_048_576, 4_096]) {
        const block = Buffer.alloc(bytes, 1)
        for (let isFull = false; !isFull;) {
          isFull = await writeFile(filler, block, { flag: 'a' }).then(
            () => false,
            (error: unknown) => {
              if (systemErrorCode(error) !== 'ENOSPC') throw error
              return true
            },
          )
        }
      }
    },
    makeRoom: () => rm(filler),
  }
}
