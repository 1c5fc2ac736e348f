import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { LaunchedProcess } from '../../helpers/host-process.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { fillUp } from './scenario.ts'

/** The real thing: a small file system that is full, and a limit of the kernel's on the size of files. */

const run = promisify(execFile)
const megabytes = 3

/** Mounts a file system that only the command in it sees; works for everybody where the kernel lets them. */
function inSmallFileSystem(
  mountPoint: string,
  ...command: string[]
): Promise<{ stdout: string; stderr: string }> {
  const script = 'mount -t tmpfs -o size="$1"m,mode=700 tmpfs "$2" && shift 2 && exec "$@"'
  return run('unshare', ['-rm', 'sh', '-c', script, 'sh', String(megabytes), mountPoint, ...command])
}

/** Why it cannot be done here; undefined: it can. */
function reasonAgainst(error: unknown): string {
  return String((error as { stderr?: string }).stderr ?? error).trim()
}

for (const { subject, title } of [
  {
    subject: 'host',
    title:
      'on a small file system that is full, a host refuses in words, goes on reading, and works again when there is room',
  },
  {
    subject: 'broker',
    title:
      'on a small file system that is full, the broker goes on in memory, says so, and writes everything when there is room',
  },
]) {
  test(title, async (context) => {
    const folder = await temporaryDirectory(context)
    const mountPoint = join(folder, 'small')
    await mkdir(mountPoint)
    const refused = await inSmallFileSystem(mountPoint, 'true').then(() => undefined, reasonAgainst)
    if (refused !== undefined) {
      context.skip(`mounting is not permitted here: ${refused}`)
      return
    }
    const script = join(import.meta.dirname, 'inside-namespace.ts')
    const arguments_ = ['--import', 'tsx', script, mountPoint, folder, subject]
    const { stdout } = await inSmallFileSystem(mountPoint, process.execPath, ...arguments_)
    for (const line of stdout.trim().split('\n')) context.diagnostic(line)
    assert.match(stdout, /^all of it$/m)
  })
}

test('a journal that may grow no further is no loss either: the limit is told, and can be raised while the host runs', async (context) => {
  const missing = await run('prlimit', ['--version']).then(() => undefined, reasonAgainst)
  if (missing !== undefined) {
    context.skip(`there is no prlimit: ${missing}`)
    return
  }
  const folder = await temporaryDirectory(context)
  const data = join(folder, 'data')
  await mkdir(data)
  const journal = join(data, '.host.journal')
  let limit: number | undefined
  const setLimit = async (
    { process: { pid } }: LaunchedProcess,
    bytes: number | 'unlimited',
  ): Promise<void> => {
    await run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`])
  }
  await fillUp(
    {
      data,
      elsewhere: folder,
      within: () => (limit === undefined ? [] : ['prlimit', `--fsize=${limit}:unlimited`]),
      async fill(host) {
        limit = (await stat(journal)).size + 100
        await setLimit(host, limit)
      },
      async makeRoom(host) {
        limit = undefined
        if (host !== undefined) await setLimit(host, 'unlimited')
      },
      words: /as large as this process may make one; raise the limit \(ulimit -f\)/,
    },
    (line) => context.diagnostic(line),
  )
})
