import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { systemFileSystem } from '../../src/base/file-system.ts'
import { silentLogger } from '../../src/base/log.ts'
import { openJournal } from '../../src/journal/journal.ts'
import { writeLongJournal } from '../helpers/long-journal.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** Milliseconds of the processor, not of the clock: other programs do not count. */
async function openingTime(context: TestContext, count: number): Promise<number> {
  const directory = await temporaryDirectory(context)
  await writeLongJournal(directory, count)
  const before = process.cpuUsage()
  const journal = await openJournal({
    directory,
    files: systemFileSystem,
    clock: systemClock,
    logger: silentLogger,
  })
  const { user, system } = process.cpuUsage(before)
  assert.equal(journal.state.seq, count)
  assert.equal(journal.state.plugins.size, 10)
  const middle = Math.floor(count / 2) + 1
  const [event] = journal.read({ after: middle - 1, limit: 1 })
  assert.equal(event?.seq, middle)
  assert.equal(journal.stateAt(middle).plugins.get(event?.plugin ?? '')?.value, event?.state)
  await journal.close()
  return (user + system) / 1_000
}

test('a journal that is four times as long takes about four times as long to open', async (context) => {
  await openingTime(context, 2_000)
  const short = await openingTime(context, 5_000)
  const long = await openingTime(context, 20_000)
  context.diagnostic(`20,000 events take ${(long / short).toFixed(1)} times as long as 5,000`)
  // Quadratic would be sixteen times.
  assert.ok(long < 9 * short, `${Math.round(long)} ms against ${Math.round(short)} ms`)
})
