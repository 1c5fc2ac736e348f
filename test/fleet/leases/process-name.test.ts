import assert from 'node:assert/strict'
import { copyFile, cp, mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { nameProcess, processFileName } from '../../../src/fleet/leases/process-name.ts'
import { isSessionOf, sessionName } from '../../../src/fleet/leases/records.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'

const thisRun = async (): Promise<string> => '423b139e-92dd\n'

const begin = (directory: string, bootId = thisRun) =>
  nameProcess(systemFileSystem, directory, silentLogger, bootId)

async function directories(context: TestContext) {
  const folder = await temporaryDirectory(context)
  await mkdir(join(folder, 'data'))
  return { folder, data: join(folder, 'data'), copy: join(folder, 'copy') }
}

test('a process is the heir of the one before it in the same directory, each with a name of its own', async (context) => {
  const { data } = await directories(context)
  const first = await begin(data)
  assert.equal(first.heirOf, null)
  const second = await begin(data)
  assert.equal(second.heirOf, first.process)
  const third = await begin(data)
  assert.equal(third.heirOf, second.process)
  assert.equal(new Set([first.process, second.process, third.process]).size, 3)
  assert.ok(isSessionOf(sessionName(7, first.process, 0), second.heirOf))
})

test('a directory that was renamed is the same one', async (context) => {
  const { data, copy } = await directories(context)
  const { process } = await begin(data)
  await rename(data, copy)
  assert.equal((await begin(copy)).heirOf, process)
})

test('a copy of a directory does not inherit, and neither does the next process in the copy inherit from the original', async (context) => {
  const { data, copy } = await directories(context)
  await begin(data)
  await cp(data, copy, { recursive: true, preserveTimestamps: true })
  const copied = await begin(copy)
  assert.equal(copied.heirOf, null)
  assert.equal((await begin(copy)).heirOf, copied.process)
})

test('a backup that is put back does not inherit', async (context) => {
  const { folder, data } = await directories(context)
  await begin(data)
  await copyFile(join(data, processFileName), join(folder, 'backup'))
  await begin(data)
  await copyFile(join(folder, 'backup'), join(data, processFileName))
  assert.equal((await begin(data)).heirOf, null)
})

test('after another start of the machine nothing is inherited: its disk may be a copy', async (context) => {
  const { data } = await directories(context)
  await begin(data)
  assert.equal((await begin(data, async () => 'another')).heirOf, null)
})

test('where the system does not tell its starts apart nothing is inherited', async (context) => {
  const { data } = await directories(context)
  const unknown = () => Promise.reject(new Error('ENOENT'))
  await begin(data, unknown)
  assert.equal((await begin(data, unknown)).heirOf, null)
})

for (const [what, content] of [
  ['is damaged', '{"process":"a'],
  ['says something else', '{"process":"../x","boot":"423b139e-92dd","device":"1","inode":"2"}'],
]) {
  test(`a note that ${what} is nobody's`, async (context) => {
    const { data } = await directories(context)
    await writeFile(join(data, processFileName), content ?? '')
    const { process, heirOf } = await begin(data)
    assert.equal(heirOf, null)
    assert.equal((await begin(data)).heirOf, process)
  })
}

test('a full disk costs the next process its heritage, and this one nothing', async (context) => {
  const { data } = await directories(context)
  await begin(data)
  const logger = createRecordingLogger()
  const full = { ...systemFileSystem, rename: () => Promise.reject(new Error('ENOSPC: no space left')) }
  const second = await nameProcess(full, data, logger, thisRun)
  assert.ok(second.process.length > 8)
  assert.deepEqual(
    logger.lines.map(({ level, message }) => `${level}: ${message}`),
    ['warn: The name of this process could not be noted for the next one'],
  )
  assert.notEqual((await begin(data)).heirOf, second.process)
})
