import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { messageBytesLimit } from '../../src/base/text/cut-text.ts'
import { journalFileName } from '../../src/journal/segments/segment.ts'
import { openTestJournal } from '../helpers/journal-stage.ts'
import { writeLargeTexts } from '../helpers/large-texts.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

test('texts of any size in a journal of an older version are cut when they are read, and stay on disk', async (context) => {
  const directory = await temporaryDirectory(context)
  const ids = await writeLargeTexts(directory)
  const size = (await readFile(join(directory, journalFileName))).length
  const journal = await openTestJournal(directory)
  const states = [journal.state, journal.stateAt(journal.state.seq), journal.stateAt(journal.state.seq - 1)]
  const events = ids.flatMap((plugin) => journal.read({ plugin, limit: 100 }))
  for (const text of [...states.map((state) => [...state.plugins.values()]), events].map((all) =>
    JSON.stringify(all),
  )) {
    assert.ok(text.length < ids.length * 5 * messageBytesLimit, `${text.length} bytes`)
  }
  const { message } = journal.state.plugins.get(ids[0] ?? '')?.context.error ?? {}
  assert.match(message ?? '', /^E+… \(8,000,000 bytes\)$/)
  await journal.close()
  assert.equal((await readFile(join(directory, journalFileName))).length, size)
})

test('no fact is written down with a text of any size', async (context) => {
  const directory = await temporaryDirectory(context)
  const [plugin = ''] = await writeLargeTexts(directory, [10])
  const journal = await openTestJournal(directory)
  const before = (await readFile(join(directory, journalFileName))).length
  const error = { code: 'lua_error', message: 'x'.repeat(500_000), at: '2026-01-01T00:00:00.000Z' }
  const log = [{ at: error.at, level: 'error', message: 'y'.repeat(500_000) }]
  const [, event] = await journal.append(
    [
      { type: 'PluginLoadRequested', plugin, data: { reason: 'z'.repeat(500_000) } },
      { type: 'PluginLoadFailed', plugin, data: { error: { ...error, log } } },
    ],
    'http',
  )
  assert.match(event?.type === 'PluginLoadFailed' ? event.data.error.message : '', /^x+… \(500,000 bytes\)$/)
  assert.deepEqual(journal.read({ plugin, after: (event?.seq ?? 0) - 1, limit: 1 }), [event])
  await journal.close()
  const written = (await readFile(join(directory, journalFileName))).length - before
  assert.ok(written < 4 * messageBytesLimit, `${written} bytes`)
})
