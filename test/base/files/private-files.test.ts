import assert from 'node:assert/strict'
import { constants } from 'node:fs'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import {
  type FileSystem,
  systemFileSystem,
  writeFileAtomically,
} from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { makePrivateDirectory, takeRightsOfOthers } from '../../../src/base/files/private-files.ts'
import { createHost } from '../../../src/host/host.ts'
import { openJournal } from '../../../src/journal/journal.ts'
import { repairJournal } from '../../../src/journal/repair/repair.ts'
import { readSnapshot } from '../../../src/journal/snapshot/snapshot.ts'
import { makeSecretKey, readKeys, rewriteDirectory } from '../../../src/maintenance/secret-commands.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { hostVersion, startHostFor, testSettings } from '../../helpers/test-host.ts'

/** Whatever the host writes only its owner can read, also when the process would give more by default. */

const umaskBefore = process.umask(0o022)
after(() => void process.umask(umaskBefore))

const keeper = (version: string): FixturePlugin => ({
  id: 'keeper',
  version,
  lua: `
local plugin = Plugin:new("keeper")
plugin:onInit(function(config)
  plugin:kvSet("token", "hunter2", nil, { secure = true })
end)
return plugin`,
  manifest: {
    configSchema: [{ key: 'apiKey', type: 'string' }],
    docs: [{ title: 'Page', file: 'docs/page.md' }],
  },
  files: { 'docs/page.md': '# Page' },
})

const rightsOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

/** Paths below a folder that others than the owner can use, with their rights. */
async function openToOthers(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  assert.ok(entries.length > 5, 'there is something to look at')
  const paths = entries.map((entry) => join(entry.parentPath, entry.name))
  const rights = await Promise.all(paths.map(async (path) => ({ path, mode: await rightsOf(path) })))
  return rights
    .filter(({ mode }) => (mode & 0o077) !== 0)
    .map(({ path, mode }) => `${path.slice(directory.length)} ${mode.toString(8)}`)
}

/** Whether a file can be made by being opened with these flags: a name as Node's, or the system's bits. */
const canMake = (flags: string | number | undefined): boolean =>
  typeof flags === 'number'
    ? (flags & constants.O_CREAT) !== 0
    : flags !== undefined && !flags.startsWith('r')

/** Notes each file that is open to others at the moment at which it is made, the temporary ones included. */
function watchedFiles(found: string[]): FileSystem {
  return {
    ...systemFileSystem,
    async open(path, flags, mode) {
      const handle = await systemFileSystem.open(path, flags, mode)
      const rights = (await handle.stat()).mode & 0o777
      if (canMake(flags) && (rights & 0o077) !== 0) found.push(`${String(path)} ${rights.toString(8)}`)
      return handle
    },
  }
}

for (const umask of [0o022, 0o000]) {
  test(`with the umask ${umask.toString(8)} everything in the data directory is its owner's alone`, async (context) => {
    process.umask(umask)
    const secretKeyFile = join(await temporaryDirectory(context), 'key')
    const born: string[] = []
    let host = await startHostFor(context, {
      plugins: [keeper('1.0.0')],
      files: watchedFiles(born),
    })
    const post = async (path: string, body: unknown = {}): Promise<void> => {
      const answer = await host.request('POST', path, { body })
      assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`)
    }
    const { directory } = host
    const settled = async (): Promise<void> => {
      await host.host.close()
      assert.deepEqual(await openToOthers(directory), [])
    }
    const store = join(directory, '.kv', 'fixtures--keeper.json')

    // An installation, two updates, a way back, secrets in the configuration and in the store.
    await post('/api/plugins/install', { fullId: '@fixtures/keeper' })
    await post('/api/plugins/keeper/config', { config: { apiKey: 'hunter2' } })
    await post('/api/plugins/keeper/toggle')
    for (const version of ['1.1.0', '1.2.0']) {
      await host.publish([keeper(version)])
      await post('/api/plugins/keeper/update')
    }
    await post('/api/plugins/keeper/rollback')
    await settled()
    assert.ok((await readdir(join(directory, 'plugins'))).includes('.older'))

    // What somebody has opened to others meanwhile, and a store that is damaged.
    for (const name of ['.host.json', '.host.journal', '.host.lock'])
      await chmod(join(directory, name), 0o644)
    await writeFile(store, 'damaged')
    await chmod(store, 0o666)
    host = await host.restart()
    await settled()
    assert.equal((await readdir(join(directory, '.kv'))).length, 2)

    // Encryption, and a temporary file that a crash has left behind.
    await makeSecretKey(secretKeyFile)
    assert.equal(await rightsOf(secretKeyFile), 0o600)
    await writeFile(`${join(directory, '.host.json')}.tmp`, 'half')
    await rewriteDirectory(directory, await readKeys(secretKeyFile), 'rotate')
    assert.deepEqual(await openToOthers(directory), [])
    await rewriteDirectory(directory, await readKeys(secretKeyFile), 'decrypt')
    assert.deepEqual(await openToOthers(directory), [])

    // A journal that is damaged and open to others; the repair keeps a copy.
    const journal = join(directory, '.host.journal')
    const text = await readFile(journal, 'utf8')
    await writeFile(journal, text.replace('PluginRolledBack', 'PluginRalledBock'))
    await chmod(journal, 0o644)
    const snapshot = await readSnapshot(systemFileSystem, directory)
    const [done] = await repairJournal(directory, systemFileSystem, systemClock.now(), snapshot, async () => {
      const opened = await openJournal({
        directory,
        files: systemFileSystem,
        clock: systemClock,
        logger: silentLogger,
        acknowledged: 0,
      })
      await opened.close()
    })
    assert.equal(await rightsOf(done?.copies[0] ?? ''), 0o600)
    host = await host.restart()
    await settled()
    assert.deepEqual(born, [])
  })
}

test('a data directory that the host makes is its own', async (context) => {
  process.umask(0)
  const directory = join(await temporaryDirectory(context), 'new', 'data')
  const host = await createHost({
    settings: testSettings(directory),
    logger: silentLogger,
    programDirectory: join(import.meta.dirname, '..', '..', '..'),
    hostVersion,
    environment: {},
  })
  context.after(() => host.close())
  assert.equal(await rightsOf(directory), 0o700)
})

test('a directory of which nothing can be asked for want of memory is refused for that, and not as one that is in the way', async (context) => {
  const directory = await temporaryDirectory(context)
  const files: FileSystem = {
    ...systemFileSystem,
    stat: (async () => {
      throw Object.assign(new Error('ENOMEM: not enough memory, stat'), { code: 'ENOMEM' })
      // One of the overloads is all that the host uses.
    }) as FileSystem['stat'],
  }
  await assert.rejects(makePrivateDirectory(files, directory), { code: 'ENOMEM' })
})

test('a directory whose name could not be brought to the disk is made, and brought there, by the next attempt', async (context) => {
  const parent = await temporaryDirectory(context)
  let syncs = 0
  const files = failingFileSystem((operation, path) => {
    if (operation !== 'sync' || path !== parent) return false
    syncs += 1
    return syncs === 1 && 'EIO'
  })
  const directory = join(parent, 'made')
  await assert.rejects(makePrivateDirectory(files, directory), { code: 'EIO' })
  await makePrivateDirectory(files, directory)
  assert.equal(syncs, 2)
  assert.ok((await stat(directory)).isDirectory())
})

test('what a crash has left of a temporary file does not lend its rights to the next', async (context) => {
  process.umask(0)
  const path = join(await temporaryDirectory(context), 'file')
  await writeFile(`${path}.tmp`, 'half', { mode: 0o666 })
  await writeFileAtomically(systemFileSystem, path, 'whole', 0o600)
  assert.deepEqual([await rightsOf(path), await readFile(path, 'utf8')], [0o600, 'whole'])
})

test('rights are taken from the files that fit, which is told, and what cannot be is told, too', async (context) => {
  process.umask(0)
  const directory = await temporaryDirectory(context)
  for (const name of ['.host.open', '.host.own', 'other']) {
    await writeFile(join(directory, name), '', { mode: name === '.host.own' ? 0o600 : 0o664 })
  }
  const logger = createRecordingLogger()
  const fits = (name: string): boolean => name.startsWith('.host.')
  await takeRightsOfOthers(systemFileSystem, logger, join(directory, 'none'), fits)
  await takeRightsOfOthers(systemFileSystem, logger, directory, fits)
  const rights = await Promise.all(
    ['.host.open', '.host.own', 'other'].map((name) => rightsOf(join(directory, name))),
  )
  assert.deepEqual(rights, [0o600, 0o600, 0o664])
  await mkdir(join(directory, 'more'))
  await writeFile(join(directory, 'more', 'file'), '', { mode: 0o644 })
  const refusing: FileSystem = {
    ...systemFileSystem,
    open: () => Promise.reject(new Error('not on this file system')),
  }
  await takeRightsOfOthers(refusing, logger, join(directory, 'more'), () => true)
  assert.deepEqual(
    logger.lines.map(({ level, message }) => [level, message]),
    [
      ['info', 'Others could read a file; now only its owner can'],
      ['warn', 'A file can be read by others, and that cannot be changed'],
    ],
  )
})

test('on a file system that keeps no rights nothing is said to be its owner’s alone, and a long journal is one line', async (context) => {
  const directory = await temporaryDirectory(context)
  for (const name of ['.host.json', '.host.journal', '.host.lock']) {
    await writeFile(join(directory, name), '', { mode: 0o644 })
  }
  // As exFAT and NTFS are mounted on Linux by default: each file is everybody's, and a change is answered with success.
  const forgetful: FileSystem = {
    ...systemFileSystem,
    async open(...parameters) {
      const handle = await systemFileSystem.open(...parameters)
      handle.chmod = () => Promise.resolve()
      return handle
    },
  }
  const logger = createRecordingLogger()
  await takeRightsOfOthers(forgetful, logger, directory, () => true)
  const { path, ...rest } = logger.lines[0]?.fields ?? {}
  assert.ok(String(path).startsWith(join(directory, '.host.')))
  assert.deepEqual(rest, { error: 'the file system keeps no rights of files', more: 2 })
  assert.deepEqual(
    logger.lines.map(({ level, message }) => [level, message]),
    [['warn', 'A file can be read by others, and that cannot be changed']],
  )
})
