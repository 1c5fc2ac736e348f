import assert from 'node:assert/strict'
import { cp, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { id, installation, other } from '../helpers/any-fact.ts'
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
