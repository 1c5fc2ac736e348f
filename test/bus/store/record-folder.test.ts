import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createRecordFolder, recordFolderName } from '../../../src/bus/store/record-folder.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'

test('a folder that somebody else has open is not damaged: it stays where it is, with all that is in it', async (context) => {
  const directory = await temporaryDirectory(context)
  const create = () =>
    createRecordFolder({
      directory,
      files: systemFileSystem,
      clock: createManualClock(),
      logger: silentLogger,
    })
  const { records } = await create().open()
  await records.write([{ key: 'a', value: Buffer.from('kept') }])
  const folder = create()
  await assert.rejects(folder.open(), /lock/i)
  assert.deepEqual(await readdir(directory), [recordFolderName])
  await records.close()

  const found: string[] = []
  const opened = await folder.open((key, value) => void found.push(`${key} ${String(value)}`))
  assert.deepEqual([opened.anew, found], [false, ['a kept']])
  await opened.records.close()
})
