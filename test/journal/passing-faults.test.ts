import assert from 'node:assert/strict'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { FileSystem } from '../../src/base/files/file-system.ts'
import { checkpointFileName } from '../../src/journal/segments/checkpoint-file.ts'
import type { Journal } from '../../src/journal/journal.ts'
import type { JournalEvent } from '../../src/schema/journal/journal-event.ts'
import { configured, id, installation, other } from '../helpers/any-fact.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import { openTestJournal, plainState, readAll } from '../helpers/journal-stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** Calls to the file system fail, whichever they are, and those that follow do not: the same process goes on. */

const segmentBytes = 400

/** A journal of an older version: one file, too large, and no checkpoint. It is cut into segments beside the appends. */
async function largeJournal(context: TestContext): Promise<string> {
  const directory = await temporaryDirectory(context)
  const journal = await openTestJournal(directory)
  await journal.append([...installation(id), ...installation(other)], 'http')
  for (let n = 0; n < 8; n += 1) await journal.append([configured(n % 3 ? id : other, { n })], 'http')
  await journal.close()
  await rm(join(directory, checkpointFileName))
  return directory
}

/** Opens it, appends, and closes it. Answers what was acknowledged, that of before included. */
async function use(directory: string, files: FileSystem, isCopy: boolean): Promise<JournalEvent[]> {
  const open = (): Promise<Journal> => openTestJournal(directory, { segmentBytes, files, isCopy })
  const journal = await open().catch(open).catch(open)
  const acknowledged = readAll(journal)
  const append = async (n: number, parts: readonly number[]): Promise<number[]> => {
    const appends = parts.map((part) => journal.append([configured(id, { n, part })], 'http'))
    const outcomes = await Promise.allSettled(appends)
    acknowledged.push(...outcomes.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])))
    return parts.filter((_, position) => outcomes[position]?.status === 'rejected')
  }
  for (let n = 0; n < 3; n += 1) {
    // The first one is written by itself, and meanwhile the others come together.
    for (let left = [0, 1, 2]; left.length > 0;) left = await append(n, left)
  }
  // Where the last is refused, nothing is written after it.
  await append(3, [0])
  assert.deepEqual(readAll(journal), acknowledged, 'what is read while it is open')
  await journal.close().catch((error: unknown) => assert.match(String(error), /i\/o error, close/))
  return acknowledged
}

async function start(directory: string): Promise<{ all: JournalEvent[]; state: unknown }> {
  const journal = await openTestJournal(directory, { segmentBytes })
  const found = { all: readAll(journal), state: plainState(journal.state) }
  await journal.close()
  return found
}

const kinds = [
  { what: 'one call to the file system fails', count: 1, isCopy: false },
  { what: 'two calls in a row to the file system fail', count: 2, isCopy: false },
  { what: "one call fails under the copy of a fleet's journal", count: 1, isCopy: true },
]
for (const { what, count, isCopy } of kinds) {
  test(`when ${what}, the next start has what was acknowledged, and nothing else`, async (context) => {
    const source = await largeJournal(context)
    for (let place = 1, reached = true; reached; place += 1) {
      const directory = await temporaryDirectory(context)
      await cp(source, directory, { recursive: true })
      let calls = 0
      const failed: string[] = []
      const files = failingFileSystem(
        (operation) => {
          calls += 1
          if (calls < place || calls >= place + count) return false
          failed.push(operation)
          return 'EIO'
        },
        { questions: true },
      )
      const acknowledged = await use(directory, files, isCopy)
      reached = calls >= place
      const where = `${failed.join(', ')} at call ${place}`
      const known = await start(directory)
      assert.deepEqual(known.all, acknowledged, where)
      await rm(join(directory, checkpointFileName), { force: true })
      assert.deepEqual(await start(directory), known, where)
    }
  })
}
