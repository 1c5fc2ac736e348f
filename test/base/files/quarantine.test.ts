import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { quarantine } from '../../../src/base/files/quarantine.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'

test('copies of one file go when they are too many, those in the middle, and the log names them', async (t) => {
  const directory = await temporaryDirectory(t)
  const logger = createRecordingLogger()
  for (const time of [11, 12, 13, 14]) await writeFile(join(directory, `a.damaged-${time}`), '')
  // Of other files, or by other means.
  for (const name of ['ab.damaged-12', 'b.damaged-12', 'a.12', 'a', 'a.damaged-2026-01-02T03-04-05.678Z'])
    await writeFile(join(directory, name), '')
  await mkdir(join(directory, 'a.damaged-15'))
  await writeFile(join(directory, 'a.damaged-15', 'inside'), '')
  const kept = await quarantine(join(directory, 'a'), 20, { files: systemFileSystem, logger })
  assert.equal(kept, join(directory, 'a.damaged-20'))
  assert.deepEqual((await readdir(directory)).sort(), [
    ...['a.12', 'a.damaged-11', 'a.damaged-14', 'a.damaged-15', 'a.damaged-20'],
    ...['a.damaged-2026-01-02T03-04-05.678Z', 'ab.damaged-12', 'b.damaged-12'],
  ])
  assert.deepEqual(
    logger.lines.map(({ level, fields }) => [level, fields?.removed]),
    [['warn', [12, 13].map((time) => join(directory, `a.damaged-${time}`))]],
  )
})

test('the copy of now stays, also where the clock was set back since', async (t) => {
  const directory = await temporaryDirectory(t)
  const logger = createRecordingLogger()
  for (const time of [10, 30, 31, 32]) await writeFile(join(directory, `a.damaged-${time}`), '')
  await writeFile(join(directory, 'a'), 'now')
  await quarantine(join(directory, 'a'), 20, { files: systemFileSystem, logger })
  assert.deepEqual(
    (await readdir(directory)).sort(),
    [10, 20, 31, 32].map((time) => `a.damaged-${time}`),
  )
})

test('only what a host has put aside by itself is removed, the oldest and the newest by number', async (t) => {
  const directory = await temporaryDirectory(t)
  const logger = createRecordingLogger()
  // The first one by a box that did not know the time yet.
  const copies = [900, 1_100, 1_200, 1_300].map((time) => `a.damaged-${time}`)
  const others = ['a.damaged-1100.gz', 'a.damaged-mine', 'a.damaged-2025-02-01T10-00-00.000Z', 'a.damaged-']
  const ofAnother = ['a.damaged-10.damaged-11', 'a.damaged-10.damaged-12', 'a.damaged-10.damaged-13']
  for (const name of ['a', ...copies, ...others, ...ofAnother]) await writeFile(join(directory, name), '')
  await quarantine(join(directory, 'a'), 2_000, { files: systemFileSystem, logger })
  const kept = [900, 1_200, 1_300, 2_000].map((time) => `a.damaged-${time}`)
  assert.deepEqual((await readdir(directory)).sort(), [...kept, ...others, ...ofAnother].sort())
})

test('copies that cannot be removed are told of, and the file is put aside all the same', async (t) => {
  const directory = await temporaryDirectory(t)
  const logger = createRecordingLogger()
  for (const time of [11, 12, 13, 14]) await writeFile(join(directory, `a.damaged-${time}`), '')
  await writeFile(join(directory, 'a'), 'now')
  const rm = () => Promise.reject(new Error('EIO: i/o error'))
  await quarantine(join(directory, 'a'), 20, { files: { ...systemFileSystem, rm }, logger })
  assert.ok((await readdir(directory)).includes('a.damaged-20'))
  assert.deepEqual(
    logger.lines.map(({ message }) => message),
    ['Damaged copies that are too many could not be removed'],
  )
})
