import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, chown, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { chownCommand } from '../../src/base/files/chown-command.ts'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { openExisting } from '../../src/journal/segments/damaged-journal.ts'
import { launchHostProcess, runProgram, startHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** What an administrator runs as root for the host of another user stays that user's. */

/** A number that is no user of this machine's, as in a container. */
const owner = 64_123
const skip = process.getuid?.() === 0 ? false : 'only root can make files of another user'

/** Root without the right to open what is not its own is any user. */
const asAnyUser = ['setpriv', '--bounding-set', '-dac_override,-dac_read_search']

async function giveAll(directory: string): Promise<void> {
  const names = await readdir(directory, { recursive: true })
  for (const name of ['', ...names]) await chown(join(directory, name), owner, owner)
}

async function notTheOwners(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true })
  const owners = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).uid))
  assert.ok(names.length > 3)
  return names.filter((_, index) => owners[index] !== owner)
}

/** Folder in which that user may have files, and the data directory of its host, which has run once. */
async function hostOfAnother(context: TestContext): Promise<{ folder: string; directory: string }> {
  const folder = await temporaryDirectory(context)
  await chmod(folder, 0o755)
  const directory = join(folder, 'data')
  const host = await startHostProcess(directory)
  context.after(() => host.stop('SIGKILL'))
  await host.stop('SIGTERM')
  await giveAll(directory)
  return { folder, directory }
}

test(
  'what root changes in the data directory of another user stays that user’s',
  { skip },
  async (context) => {
    const { folder, directory } = await hostOfAnother(context)
    const key = join(folder, 'key')
    await writeFile(key, 'ab'.repeat(32), { mode: 0o600 })
    await chown(key, owner, owner)
    for (const command of ['rotate-key', 'decrypt']) {
      const { code, stderr } = await runProgram([command, '--data-dir', directory, '--secret-key-file', key])
      assert.deepEqual([code, stderr], [0, ''])
      assert.deepEqual(await notTheOwners(directory), [], command)
    }
    const journal = join(directory, '.host.journal')
    await writeFile(journal, (await readFile(journal, 'utf8')).replace('HostReady', 'HostRaedy'))
    const repaired = await runProgram(['repair', '--data-dir', directory])
    assert.deepEqual([repaired.code, repaired.stderr], [0, ''])
    assert.match(repaired.stdout, /^Cut the journal/)
    assert.deepEqual(await notTheOwners(directory), [])
  },
)

test(
  'a key that root puts on top of a file of another user leaves it that user’s',
  { skip },
  async (context) => {
    const key = join(await temporaryDirectory(context), 'key')
    await writeFile(key, 'ab'.repeat(32), { mode: 0o600 })
    await chown(key, owner, owner)
    const { code, stderr } = await runProgram(['secret-key', '--secret-key-file', key])
    assert.deepEqual([code, stderr], [0, ''])
    const { uid, gid, mode } = await stat(key)
    assert.deepEqual([uid, gid, mode & 0o777], [owner, owner, 0o600])
  },
)

test(
  'a token that root makes in the data directory of another user is that user’s, before the host’s first start, too',
  { skip },
  async (context) => {
    const empty = await temporaryDirectory(context)
    await chown(empty, owner, owner)
    const { directory } = await hostOfAnother(context)
    for (const data of [empty, directory]) {
      const { code, stdout, stderr } = await runProgram(['token', '--data-dir', data])
      const path = join(data, '.host.token')
      assert.deepEqual([code, stderr], [0, ''])
      assert.ok(stdout.startsWith(`Made ${path}; only the user ${owner} can read it. `), stdout)
      const { uid, gid, mode } = await stat(path)
      assert.deepEqual([uid, gid, mode & 0o777], [owner, owner, 0o600])
    }
  },
)

test(
  'a host that root starts in the directory of another user says what comes of it, and the way back',
  { skip },
  async (context) => {
    const { directory } = await hostOfAnother(context)
    const warning = 'The host runs as root in a data directory of another user'
    const host = launchHostProcess(directory)
    context.after(() => host.stop('SIGKILL'))
    const { user, command } = await host.said(warning)
    assert.deepEqual([user, command], [owner, `chown -R ${owner}:${owner} "${directory}"`])
    await host.ready
    await host.stop('SIGTERM')
    assert.notDeepEqual(await notTheOwners(directory), [])
    // Nor is a directory of root's own worth a word.
    const own = launchHostProcess(await temporaryDirectory(context))
    context.after(() => own.stop('SIGKILL'))
    await own.ready
    assert.ok(!own.output().includes(warning))
  },
)

test('a file that the host may not read is told with the command that gives all of the directory to it', async () => {
  const files: FileSystem = {
    ...systemFileSystem,
    open: () => Promise.reject(Object.assign(new Error('not permitted'), { code: 'EACCES' })),
  }
  const ids = `${process.getuid?.() ?? 'USER'}:${process.getgid?.() ?? 'GROUP'}`
  await assert.rejects(openExisting(files, '/some where/.host.journal', 'r'), {
    message:
      '/some where/.host.journal cannot be used (EACCES): it must be a file that the host may read and write. Where it belongs to ' +
      `another user, give that one's files to the user of the host: chown -R ${ids} "/some where"`,
  })
})

test('a command that gives a directory to a user is one that a shell takes as it is, whatever the path', async (context) => {
  const directory = await temporaryDirectory(context)
  for (const name of ['some where', '$HOME', '`id`', 'a"b', "it's $5", String.raw`back\slash`, 'oh!no']) {
    const printed = chownCommand(join(directory, name), { uid: 1, gid: 2 })
    const { stdout } = spawnSync('sh', ['-c', printed.replace('chown -R', "printf '%s\n'")], {
      encoding: 'utf8',
    })
    assert.equal(stdout, `1:2\n${join(directory, name)}\n`, printed)
  }
})

test(
  'a lock file that is another user’s is told with the command that gives all of the directory to the host',
  { skip },
  async (context) => {
    const directory = await temporaryDirectory(context)
    const host = await startHostProcess(directory)
    context.after(() => host.stop('SIGKILL'))
    await host.stop('SIGTERM')
    const lock = join(directory, '.host.lock')
    await chown(lock, owner, owner)
    for (const command of [['--http-port', '0', '--mqtt-port', '0'], ['repair']]) {
      const { code, stderr } = await runProgram([...command, '--data-dir', directory], {}, asAnyUser)
      assert.deepEqual(
        [code, stderr],
        [
          1,
          `lupine: ${lock} cannot be used (EACCES): it must be a file that the host may read and write. Where it belongs to another ` +
            `user, give that one's files to the user of the host: chown -R 0:0 "${directory}"\n`,
        ],
      )
    }
  },
)

test(
  'a directory that is another user’s, with files that are the host’s own, stops the start before anything has changed',
  { skip },
  async (context) => {
    const directory = await temporaryDirectory(context)
    const first = await startHostProcess(directory)
    context.after(() => first.stop('SIGKILL'))
    await first.stop('SIGTERM')
    await chown(directory, owner, owner)
    await chmod(directory, 0o755)
    const journal = await readFile(join(directory, '.host.journal'), 'utf8')
    const flags = ['--data-dir', directory, '--http-port', '0', '--mqtt-port', '0']
    const { code, stderr } = await runProgram(flags, {}, asAnyUser)
    assert.deepEqual(
      [code, stderr],
      [
        1,
        `lupine: The data directory ${directory} cannot be written (EACCES): correct its permissions, or set HOST_DATA_DIR to another one.\n`,
      ],
    )
    assert.equal(await readFile(join(directory, '.host.journal'), 'utf8'), journal)
  },
)
