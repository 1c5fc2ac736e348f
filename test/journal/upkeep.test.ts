import assert from 'node:assert/strict'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLogger } from '../../src/base/log/log.ts'
import { encodeLine } from '../../src/journal/lines/journal-line.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { checkpointFileName } from '../../src/journal/segments/checkpoint-file.ts'
import { journalFileName, segmentName } from '../../src/journal/segments/segment.ts'
import { configured, id, installation } from '../helpers/any-fact.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { type Everything, everythingOf, openTestJournal } from '../helpers/journal-stage.ts'
import { writeLongJournal } from '../helpers/long-journal.ts'
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

test('a start begins no new segment while there is room in the last one, and cuts none that is a little too large', async (context) => {
  const directory = await temporaryDirectory(context)
  for (let n = 0; n < 3; n += 1) {
    const journal = await openTestJournal(directory, { segmentBytes: 100_000 })
    await appendOneByOne(journal, 2)
    await journal.close()
  }
  assert.deepEqual(await endedIn(directory), [])
  const journal = await openTestJournal(directory, { segmentBytes: 2_000 })
  await journal.append(
    Array.from({ length: 15 }, () => started),
    'startup',
  )
  await journal.close()
  await rm(join(directory, checkpointFileName))
  const again = await openTestJournal(directory, { segmentBytes: 2_000 })
  await appendOneByOne(again, 3)
  await again.close()
  assert.deepEqual(await endedIn(directory), [segmentName(1)])
})

test('a large segment that has ended is cut while the host runs, and one that the disk does not let end is not', async (context) => {
  const directory = await temporaryDirectory(context)
  const before = await openTestJournal(directory, { segmentBytes: 16_000 })
  await before.append([...installation(id), configured(id, { n: 1 })], 'http')
  // A long time without the plugin, and one with it.
  await appendOneByOne(before, 30)
  while ((await endedIn(directory)).length === 0) await before.append([configured(id, { n: 1 })], 'http')
  await before.append([configured(id, { n: 2 })], 'http')
  await appendOneByOne(before, 40)
  await before.close()
  const checkpoint = join(directory, checkpointFileName)
  await rm(checkpoint)
  const [ended = ''] = await endedIn(directory)
  const { size } = await stat(join(directory, ended))
  const [top = ''] = (await readFile(join(directory, journalFileName), 'utf8')).split('\n')
  const endOfLast = segmentName(JSON.parse(top).base.seq + 1)
  let full = true
  const files = failingFileSystem(
    (operation, path) => full && operation === 'rename' && path.endsWith(endOfLast),
  )
  const options = { files, segmentBytes: 300 }
  const journal = await openTestJournal(directory, options)
  const whole = everythingOf(journal)
  await appendOneByOne(journal, 80)
  assert.ok((await endedIn(directory)).length > 1)
  assert.ok((await endedIn(directory)).every((name) => name < endOfLast))
  assert.ok((await stat(join(directory, ended))).size < size / 2, 'what is elsewhere takes no room here')
  assertGoesOn(whole, everythingOf(journal))
  full = false
  // Until it has ended, is cut, and nothing is left to do.
  for (let n = 0; n < 200 && !(await readdir(directory)).includes(checkpointFileName); n += 1)
    await appendOneByOne(journal, 1)
  assertGoesOn(whole, everythingOf(journal))
  await journal.close()
  const after = await openTestJournal(directory, options)
  assertGoesOn(whole, everythingOf(after))
  await after.close()
  // The checkpoint knows the parts as they are: what it says of the state is not held against them.
  const { checksum: _checksum, ...content } = JSON.parse(await readFile(checkpoint, 'utf8'))
  content.base.plugins[0].context.config = { lie: true }
  await writeFile(checkpoint, `${encodeLine(content)}\n`)
  const believing = await openTestJournal(directory, options)
  context.after(() => believing.close())
  assert.deepEqual(believing.state.plugins.get(id)?.context.config, { lie: true })
})

test('when a journal of an older version has been cut, a checkpoint is left although nobody appends, should the host be killed', async (context) => {
  const directory = await temporaryDirectory(context)
  await writeLongJournal(directory, 300, 7)
  let isLeft = (): void => undefined
  const left = new Promise<void>((resolve) => (isLeft = resolve))
  const files = failingFileSystem((operation, path) => {
    if (operation === 'rename' && path.endsWith(checkpointFileName)) isLeft()
    return false
  })
  const journal = await openTestJournal(directory, { files, segmentBytes: 8_000 })
  context.after(() => journal.close())
  await appendOneByOne(journal, 1)
  assert.ok(!(await readdir(directory)).includes(checkpointFileName))
  await left
  assert.ok((await endedIn(directory)).length > 3)
})

/** All that was there is there, and more after it. */
function assertGoesOn(before: Everything, now: Everything): void {
  const { length } = before.all
  assert.ok(now.all.length > length)
  assert.deepEqual(
    {
      ...now,
      all: now.all.slice(0, length),
      states: now.states.slice(0, length),
      ids: now.ids.slice(0, length + 1),
    },
    { ...before, state: now.state },
  )
}
