import assert from 'node:assert/strict'
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { decodeLine, encodeLine } from '../../src/journal/lines/journal-line.ts'
import { repairJournal } from '../../src/journal/repair/repair.ts'
import { journalFileName } from '../../src/journal/segments/segment.ts'
import { configured, id, installation } from '../helpers/any-fact.ts'
import { openTestJournal } from '../helpers/journal-stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** What a later version has written, in a directory that this one is started in again. */

const segmentBytes = 2_000

async function usedDirectory(
  context: TestContext,
): Promise<{ directory: string; path: string; seq: number }> {
  const directory = await temporaryDirectory(context)
  const journal = await openTestJournal(directory, { segmentBytes })
  await journal.append(installation(id), 'http')
  for (let n = 0; n < 20; n += 1) await journal.append([configured(id, { n, text: 'x'.repeat(50) })], 'http')
  await journal.close()
  return { directory, path: join(directory, journalFileName), seq: journal.state.seq }
}

/** The start, with its checkpoint and as `lupine repair` reads, is refused in these words, and nothing changes. */
async function assertRefused(directory: string, says: RegExp): Promise<void> {
  const names = (await readdir(directory)).sort()
  const path = join(directory, journalFileName)
  const before = await readFile(path)
  for (const whole of [false, true]) {
    // Nobody has been told of the last event: a torn line would be cut off.
    const open = (): Promise<unknown> => openTestJournal(directory, { segmentBytes, whole })
    await assert.rejects(open, says)
    const repair = repairJournal(directory, systemFileSystem, 0, undefined, async () => void (await open()))
    await assert.rejects(repair, says)
  }
  assert.deepEqual((await readdir(directory)).sort(), names)
  assert.deepEqual(await readFile(path), before)
}

const advice = String.raw`Nothing is damaged: start that version again, or put the copy .+ in place`

test('an event of a type or a format that only a newer version knows is neither cut off nor repaired away', async (context) => {
  const { directory, path, seq } = await usedDirectory(context)
  const whole = await readFile(path)
  const last = whole.toString('utf8').trimEnd().split('\n').at(-1) ?? ''
  const decoded = decodeLine(Buffer.from(last))
  assert.ok(decoded.ok)
  const next = { ...decoded.value, seq: seq + 1, id: 'x' }
  for (const [newer, reason] of [
    [{ ...next, type: 'PluginPaused' }, 'it is a "PluginPaused", which only a newer Lupine knows'],
    [{ ...next, version: 2 }, 'it was written in format 2 by a newer Lupine; this one reads up to 1'],
  ] as const) {
    await writeFile(path, whole)
    await appendFile(path, `${encodeLine(newer)}\n`)
    await assertRefused(
      directory,
      new RegExp(String.raw`Line \d+ of .+ cannot be read: ${reason}\. ${advice}`),
    )
  }
  await writeFile(path, whole)
  const journal = await openTestJournal(directory, { segmentBytes, acknowledged: seq })
  assert.equal(journal.state.seq, seq)
  await journal.close()
})

test('a state of a newer format at the top of the journal is neither cut off nor repaired away', async (context) => {
  const { directory, path } = await usedDirectory(context)
  const [first = '', ...events] = (await readFile(path, 'utf8')).split('\n')
  const decoded = decodeLine(Buffer.from(first))
  assert.ok(decoded.ok)
  assert.ok('base' in decoded.value)
  await writeFile(path, [encodeLine({ ...decoded.value, version: 2 }), ...events].join('\n'))
  const reason = 'it was written in format 2 by a newer Lupine; this one reads up to 1'
  await assertRefused(directory, new RegExp(String.raw`Line 1 of .+ cannot be read: ${reason}\. ${advice}`))
})
