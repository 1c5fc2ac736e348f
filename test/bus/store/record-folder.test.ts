import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import { ClassicLevel } from 'classic-level'
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
  await records.write([{ key: 'a', value: Buffer.from('kept') }], false)
  const folder = create()
  await assert.rejects(folder.open(), /lock/i)
  assert.deepEqual(await readdir(directory), [recordFolderName])
  await records.close()

  const found: string[] = []
  const opened = await folder.open((key, value) => void found.push(`${key} ${String(value)}`))
  assert.deepEqual([opened.anew, found], [false, ['a kept']])
  await opened.records.close()
})

test('what is to be on the disk goes through the memory of the system, also if that is all that there is to do', async (context) => {
  const folder = createRecordFolder({
    directory: await temporaryDirectory(context),
    files: systemFileSystem,
    clock: createManualClock(),
    logger: silentLogger,
  })
  const { records } = await folder.open()
  const { mock } = context.mock.method(ClassicLevel.prototype, 'batch')
  const change = { key: 'a', value: Buffer.from('kept') }
  for (const through of [false, true]) await records.write([change], through)
  await records.write([], true)
  await records.close()
  const asked = mock.calls.map(({ arguments: [changes = [], options = {}] }: { arguments: unknown[] }) => [
    Array.isArray(changes) && changes.length,
    Reflect.get(Object(options), 'sync'),
  ])
  assert.deepEqual(asked, [
    [1, false],
    [1, true],
    [1, true],
  ])
})
