import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { createMemoryCheckpoints } from '../../src/journal/fold/memory-checkpoints.ts'
import { fold, initialState } from '../../src/journal/fold/evolve.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { createNumberList } from '../../src/journal/segments/number-list.ts'
import type { JournalEvent } from '../../src/schema/journal/journal-event.ts'
import { collectGarbage } from '../helpers/collect-garbage.ts'
import { openTestJournal } from '../helpers/journal-stage.ts'
import { writeLongJournal } from '../helpers/long-journal.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** A journal as it is after years: what it takes to open it, and what stays in memory. */

async function open(directory: string): Promise<{ journal: Journal; processorTime: number }> {
  const before = process.cpuUsage()
  const journal = await openTestJournal(directory)
  const { user, system } = process.cpuUsage(before)
  return { journal, processorTime: user + system }
}

const count = 5_000
const plugins = 10

test('opening four times as many events takes about four times as long, and 80,000 of them leave little in memory', async (context) => {
  const [short, long] = [await temporaryDirectory(context), await temporaryDirectory(context)]
  await writeLongJournal(short, 4 * count, plugins)
  await writeLongJournal(long, 16 * count, plugins)
  // Once for the compiler.
  await (await open(short)).journal.close()
  const quick = await open(short)
  await quick.journal.close()
  const heapBefore = await heapAndBuffers()
  const slow = await open(long)
  const kept = (await heapAndBuffers()) - heapBefore
  context.after(() => slow.journal.close())
  const perEvent = kept / (16 * count)
  context.diagnostic(`${Math.round(perEvent)} bytes an event stay in memory`)
  const ratio = slow.processorTime / quick.processorTime
  // Four; a fold that looked back at every event would take sixteen times as long.
  assert.ok(ratio < 8, `${ratio.toFixed(1)} times as long`)
  // The file has some 270 bytes an event.
  assert.ok(perEvent < 150, `${Math.round(perEvent)} bytes an event stay in memory`)
})

async function heapAndBuffers(): Promise<number> {
  // Buffers go a turn after the objects that held them.
  for (let turn = 0; turn < 3; turn += 1) {
    collectGarbage()
    await setImmediate()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

test('a long journal answers history and states at any event as the plain fold does', async (context) => {
  const directory = await temporaryDirectory(context)
  await writeLongJournal(directory, count, plugins)
  const { journal } = await open(directory)
  context.after(() => journal.close())
  const events = journal.read({ limit: count })
  assert.deepEqual(
    events.map(({ seq }) => seq),
    Array.from({ length: count }, (_, position) => position + 1),
  )
  for (const seq of [0, 1, 999, 1_000, 1_001, 2_345, count]) {
    assert.deepEqual(JSON.stringify(statesOf(journal, seq)), JSON.stringify(foldOf(events, seq)), `at ${seq}`)
  }
  const id = '@fixtures/plugin-3'
  const own = events.filter(({ plugin }) => plugin === id)
  assert.deepEqual(
    journal.read({ plugin: id, after: 1_234, limit: 50 }),
    own.filter(({ seq }) => seq > 1_234).slice(0, 50),
  )
  assert.deepEqual(journal.read({ after: 1_234, limit: 50 }), events.slice(1_234, 1_284))
  assert.deepEqual(journal.read({ after: count, limit: 50 }), [])
  assert.deepEqual(journal.last(id), own.at(-1))
  assert.equal(journal.last('@fixtures/none'), undefined)
})

function statesOf(journal: Journal, seq: number): unknown {
  return [...journal.stateAt(seq).plugins]
}

function foldOf(events: readonly JournalEvent[], seq: number): unknown {
  return [...fold(events.slice(0, seq)).plugins]
}

test('of many checkpoints some are kept, and the one before any event is never far', () => {
  const limit = 8
  const checkpoints = createMemoryCheckpoints(10, limit)
  const last = 1_000
  for (let seq = 1; seq <= last; seq += 1)
    if (checkpoints.wants(seq)) checkpoints.note({ ...initialState(), seq })
  const found = Array.from({ length: last }, (_, seq) => checkpoints.before(seq)?.seq ?? 0)
  for (const [seq, before] of found.entries())
    assert.ok(before <= seq && seq - before <= (2 * last) / limit + 10)
  assert.ok(new Set(found).size <= limit)
})

test('a list of numbers answers as an array does', () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeNat()), (numbers) => {
      const list = createNumberList()
      for (const number of numbers) list.push(number)
      assert.deepEqual(
        Array.from({ length: list.length + 1 }, (_, position) => list.at(position)),
        [...numbers, undefined],
      )
    }),
  )
})
