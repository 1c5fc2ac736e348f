import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { type FleetJournalSettings, openFleetJournal } from '../../../src/fleet/journal/fleet-journal.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { checkpointFileName } from '../../../src/journal/segments/checkpoint-file.ts'
import { journalFileName } from '../../../src/journal/segments/segment.ts'
import { configured, id, installation } from '../../helpers/any-fact.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import {
  type Everything,
  everythingOf,
  haltingFileSystem,
  openTestJournal,
} from '../../helpers/journal-stage.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { createFleetStage } from '../fleet-stage.ts'

/** The copy of a fleet's journal in several files: what it says when it was ended, or refused, in the midst of one. */

const stage = createFleetStage()

/** A segment ends after a handful of events, so that there are many. */
const segmentBytes = 2_000

async function configure(journal: Journal, count: number, from = 0): Promise<void> {
  for (let n = from; n < from + count; n += 1)
    await journal.append([configured(id, { n, text: 'x'.repeat(n % 50) })], 'http', `key-${n}`)
}

/** Of requests that `configure` has made, and of some that nobody made. */
const keys = Array.from({ length: 70 }, (_, n) => `key-${n}`)

async function segmentsIn(directory: string): Promise<number> {
  return (await readdir(directory)).filter((name) => /^\.host\.journal\.\d+$/.test(name)).length
}

/** What a new host says, whose copy has one file. */
async function whole(context: TestContext, fleet: string): Promise<Everything> {
  return everythingOf(await stage.openHost(context, fleet), keys)
}

/** What stands in the copy, without the stream: from the checkpoint, or from the first event on. */
async function kept(directory: string, options: { whole: boolean }): Promise<Everything> {
  const journal = await openTestJournal(directory, { segmentBytes, isCopy: true, ...options })
  const everything = everythingOf(journal, keys)
  await journal.close()
  return everything
}

test('a copy in many files says what one in a single file does, at each event, and after a start', async (context) => {
  const fleet = stage.newFleet()
  const directory = await temporaryDirectory(context)
  const journal = await stage.openHost(context, fleet, { directory, segmentBytes })
  await journal.append(installation(id), 'http')
  await configure(journal, 60)
  const expected = await whole(context, fleet)
  assert.deepEqual(everythingOf(journal, keys), expected)
  await journal.close()
  assert.ok((await segmentsIn(directory)) > 4)
  for (const whole of [false, true]) assert.deepEqual(await kept(directory, { whole }), expected)
})

/** Of the calls so many are left out between two that are tried; all: `LUPINE_DISK_STEP=1`. */
const everyCall = Number(process.env.LUPINE_DISK_STEP ?? 9)

test('a host that is killed at any call to the file system has a copy after its next start that is as the stream', async (context) => {
  const run = async (fleet: string, directory: string, limit: number): Promise<number> => {
    const { files, calls, ended } = haltingFileSystem(limit)
    const connection = await stage.connection(context)
    const life = async (): Promise<void> => {
      // Of a process that is dead no timer is left.
      const host: FleetJournalSettings = {
        ...{ connection, fleet, directory, segmentBytes, files },
        ...{ clock: createManualClock(), logger: silentLogger },
      }
      const journal = await openFleetJournal(host)
      await journal.append(installation(id), 'http')
      await configure(journal, 16)
      await journal.close()
    }
    await ended(life())
    await connection.close()
    return calls()
  }
  const calls = await run(stage.newFleet(), await temporaryDirectory(context), Infinity)
  assert.ok(calls > 60, String(calls))
  for (let limit = 1; limit <= calls; limit += everyCall) {
    const fleet = stage.newFleet()
    const directory = await temporaryDirectory(context)
    await run(fleet, directory, limit)
    const expected = await whole(context, fleet)
    const journal = await stage.openHost(context, fleet, { directory, segmentBytes })
    assert.deepEqual(everythingOf(journal, keys), expected, `at call ${limit}`)
    // What had broken off is made up for.
    if (journal.state.plugins.size === 0) await journal.append(installation(id), 'http')
    await configure(journal, 12, 30)
    await journal.close()
    const later = await whole(context, fleet)
    for (const whole of [false, true]) assert.deepEqual(await kept(directory, { whole }), later)
  }
})

for (const operation of ['open', 'writeFile', 'sync', 'rename'] as const) {
  test(`where ${operation} of a new segment fails, a copy goes on in the one that it has, and begins one later`, async (context) => {
    const fleet = stage.newFleet()
    const directory = await temporaryDirectory(context)
    let isFull = true
    const warnings: string[] = []
    const isUpkeep = (path: string): boolean =>
      path.endsWith('.tmp') || path.endsWith(checkpointFileName) || /\.\d{12}$/.test(path)
    const files = failingFileSystem((name, path) => isFull && name === operation && isUpkeep(path))
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
    const host = { directory, segmentBytes, files, logger }
    const journal = await stage.openHost(context, fleet, host)
    await journal.append(installation(id), 'http')
    await configure(journal, 30)
    assert.equal(await segmentsIn(directory), 0)
    assert.equal(warnings.length, 1)
    isFull = false
    await configure(journal, 30, 30)
    assert.ok((await segmentsIn(directory)) > 0)
    const expected = await whole(context, fleet)
    assert.deepEqual(everythingOf(journal, keys), expected)
    await journal.close()
    for (const whole of [false, true]) assert.deepEqual(await kept(directory, { whole }), expected)
  })
}

test('a disk that is full from the midst of a new segment on, and at a start after that, costs no event', async (context) => {
  const fleet = stage.newFleet()
  const directory = await temporaryDirectory(context)
  let isFull = false
  let hasRoom = false
  const files = failingFileSystem((operation, path) => {
    // The one before has a name of its own by then.
    isFull ||= !hasRoom && operation === 'open' && path.endsWith(`${journalFileName}.tmp`)
    const isFresh = operation === 'open' && path.endsWith('.tmp')
    return isFull && (isFresh || operation === 'write' || operation === 'writeFile')
  })
  const well = await stage.openHost(context, fleet)
  await well.append(installation(id), 'http')
  const host = { directory, segmentBytes, files }
  const journal = await stage.openHost(context, fleet, host)
  await configure(well, 30)
  await until('a full disk', async () => isFull)
  assert.ok(journal.state.seq < well.state.seq)
  await journal.close()
  await assert.rejects(stage.openHost(context, fleet, host), { code: 'storage_full' })
  hasRoom = true
  isFull = false
  const again = await stage.openHost(context, fleet, host)
  const expected = everythingOf(well, keys)
  assert.deepEqual(everythingOf(again, keys), expected)
  await configure(again, 12, 30)
  await again.close()
  assert.ok((await segmentsIn(directory)) > 1)
  const later = await whole(context, fleet)
  for (const whole of [false, true]) assert.deepEqual(await kept(directory, { whole }), later)
})
