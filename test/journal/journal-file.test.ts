import assert from 'node:assert/strict'
import { cp, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { configured, id, installation, other } from '../helpers/any-fact.ts'
import { createDiskAccount, isTemporary } from '../helpers/disk-account.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { assertKept, openTestJournal, plainState } from '../helpers/journal-stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const displacements: [title: string, away: (directory: string) => Promise<void>][] = [
  ['moved away', (directory) => rename(directory, `${directory}-away`)],
  [
    'replaced by a copy',
    async (directory) => {
      await rename(directory, `${directory}-away`)
      await cp(`${directory}-away`, directory, { recursive: true })
    },
  ],
]
for (const [title, displace] of displacements) {
  test(`in a directory that is ${title} nothing is acknowledged, and all goes on when it is back`, async (context) => {
    const directory = join(await temporaryDirectory(context), 'data')
    await mkdir(directory)
    const journal = await openTestJournal(directory)
    await journal.append(installation(id), 'http')
    const before = plainState(journal.state)
    await displace(directory)
    const files = await readdir(directory).catch(() => [])
    await assert.rejects(journal.append(installation(other), 'http'), {
      code: 'storage_full',
      message: /it was moved, replaced or unmounted; put it back/,
    })
    assert.deepEqual(plainState(journal.state), before)
    assert.deepEqual(await readdir(directory).catch(() => []), files)
    await rm(directory, { recursive: true, force: true })
    await rename(`${directory}-away`, directory)
    await journal.append(installation(other), 'http')
    await assertKept(context, journal, directory)
  })
}

test('a journal that was made, and of which nothing could be asked, is made again with the next append', async (context) => {
  const directory = await temporaryDirectory(context)
  let failing = true
  const files: FileSystem = {
    ...systemFileSystem,
    stat: (async (path: string, options: object) => {
      if (failing) throw Object.assign(new Error('EIO: i/o error, stat'), { code: 'EIO' })
      return systemFileSystem.stat(path, options)
      // One of the overloads is all that the host uses.
    }) as FileSystem['stat'],
  }
  const journal = await openTestJournal(directory, { files })
  context.after(() => journal.close())
  await assert.rejects(journal.append(installation(id), 'http'), { code: 'storage_full' })
  failing = false
  await journal.append(installation(id), 'http')
  assert.equal(journal.state.seq, installation(id).length)
})

test('what is acknowledged stands under a name that is on disk, whichever way the file got it', async (context) => {
  const directory = await temporaryDirectory(context)
  let full = false
  // A segment has ended then, and no next one can be begun.
  const system = failingFileSystem((operation, path) => full && operation === 'open' && isTemporary(path))
  const { files, unsynced } = createDiskAccount(system)
  const journal = await openTestJournal(directory, { files, segmentBytes: 500 })
  context.after(() => journal.close())
  const append = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      await journal.append([configured(id, { index })], 'http')
      assert.deepEqual(
        unsynced().filter((path) => !isTemporary(path)),
        [],
      )
    }
  }
  await journal.append(installation(id), 'http')
  assert.deepEqual(unsynced(), [])
  await append(5)
  full = true
  await append(5)
  full = false
  await append(5)
})

test('a write of which the system takes a part is gone on with, and one of which it takes nothing is refused', async (context) => {
  const directory = await temporaryDirectory(context)
  const system = failingFileSystem(() => false, { shortWrites: true })
  let nothing = false
  const open: FileSystem['open'] = async (...given) => {
    const handle = await system.open(...given)
    return new Proxy(handle, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member)
        if (member === 'write' && nothing) return () => Promise.resolve({ bytesWritten: 0 })
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
  const journal = await openTestJournal(directory, { files: { ...system, open } })
  await journal.append(installation(id), 'http')
  nothing = true
  await assert.rejects(journal.append(installation(other), 'http'), { code: 'storage_full' })
  nothing = false
  await journal.append(installation(other), 'http')
  await assertKept(context, journal, directory)
})
