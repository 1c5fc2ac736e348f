import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { id, installation } from '../helpers/any-fact.ts'
import { openTestJournal } from '../helpers/journal-stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

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
