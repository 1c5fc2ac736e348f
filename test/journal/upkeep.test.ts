import assert from 'node:assert/strict'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLogger } from '../../src/base/log/log.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { checkpointFileName } from '../../src/journal/segments/checkpoint-file.ts'
import { journalFileName, segmentName } from '../../src/journal/segments/segment.ts'
import { configured, id, installation } from '../helpers/any-fact.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { openTestJournal, readAll } from '../helpers/journal-stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const started = { type: 'HostStarted', plugin: null, data: { host: 'h', hostVersion: '1.0.0' } } as const

async function appendOneByOne(journal: Journal, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await journal.append([started], 'startup')
}

/** The segments that have ended. */
async function endedIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.startsWith(`${journalFileName}.`)).sort()
}

for (const [state, text, written] of [
  ['a small state is written once in a hundred events', '', 3],
  ['a large one when as much of the journal was written', 'x'.repeat(60_000), 2],
] as const) {
  test(`${state}, and soon after a start that found none, should the host be killed`, async (context) => {
    const directory = await temporaryDirectory(context)
    let checkpoints = 0
    const files = failingFileSystem((operation, path) => {
      if (operation === 'open' && path.endsWith(`${checkpointFileName}.tmp`)) checkpoints += 1
      return false
    })
    const options = { files, segmentBytes: 100_000 }
    const journal = await openTestJournal(directory, options)
    await journal.append([...installation(id), configured(id, { text })], 'http')
    await appendOneByOne(journal, 220)
    await journal.close()
    assert.equal(checkpoints, written)
    await rm(join(directory, checkpointFileName))
    const again = await openTestJournal(directory, options)
    await appendOneByOne(again, 1)
    assert.equal(checkpoints, written + 1)
    await again.close()
    // Who only looks leaves the files as they are.
    await rm(join(directory, checkpointFileName))
    await (await openTestJournal(directory, options)).close()
    assert.equal(checkpoints, written + 1)
  })
}

test('a disk that has no room for a checkpoint is told once, and again when it was full, had room, and is full', async (context) => {
  const directory = await temporaryDirectory(context)
  let full = false
  const files = failingFileSystem(
    (operation, path) => full && operation === 'open' && path.endsWith(`${checkpointFileName}.tmp`),
  )
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  const journal = await openTestJournal(directory, { files, logger, segmentBytes: 100_000 })
  context.after(() => journal.close())
  // Each time long enough for one or two.
  for (const [isFull, told] of [
    [true, 1],
    [false, 1],
    [true, 2],
  ] as const) {
    full = isFull
    await appendOneByOne(journal, 110)
    assert.equal(warnings.length, told)
  }
})

test('a start begins no new segment while there is room in the last one', async (context) => {
  const directory = await temporaryDirectory(context)
  for (let n = 0; n < 3; n += 1) {
    const journal = await openTestJournal(directory, { segmentBytes: 100_000 })
    await appendOneByOne(journal, 2)
    await journal.close()
  }
  assert.deepEqual(await endedIn(directory), [])
})

test('a large segment that the disk does not let end is written to as it is, while others are cut', async (context) => {
  const directory = await temporaryDirectory(context)
  const before = await openTestJournal(directory, { segmentBytes: 4_000 })
  while ((await endedIn(directory)).length === 0) await appendOneByOne(before, 1)
  await appendOneByOne(before, 20)
  const all = readAll(before)
  await before.close()
  await rm(join(directory, checkpointFileName))
  const [top = ''] = (await readFile(join(directory, journalFileName), 'utf8')).split('\n')
  const endOfLast = segmentName(JSON.parse(top).base.seq + 1)
  const files = failingFileSystem((operation, path) => operation === 'rename' && path.endsWith(endOfLast))
  const journal = await openTestJournal(directory, { files, segmentBytes: 300 })
  await appendOneByOne(journal, 80)
  await journal.close()
  assert.ok((await endedIn(directory)).length > 3)
  assert.ok((await endedIn(directory)).every((name) => name < endOfLast))
  const again = await openTestJournal(directory, { segmentBytes: 300 })
  context.after(() => again.close())
  assert.deepEqual(readAll(again).slice(0, all.length), all)
  assert.equal(readAll(again).length, all.length + 80)
})
