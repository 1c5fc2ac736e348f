import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test, type TestContext } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { defaultLimits } from '../../../src/sandbox/limits.ts'
import { createDedicatedWorkers } from '../../../src/sandbox/threads/dedicated-workers.ts'
import { createWorkerPool } from '../../../src/sandbox/threads/worker-pool.ts'
import type { WorkerSlot } from '../../../src/sandbox/threads/worker-slot.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { pluginSource } from '../stage.ts'

const { spareDelay } = defaultLimits

/** A pool in which all go into one worker, as long as nothing is wrong; a small group has two. */
function stageOf(context: TestContext) {
  let workers = 0
  let isolates = 0
  const clock = createManualClock()
  const limits = {
    ...defaultLimits,
    isolatesInSmallGroup: 2,
    isolatesBeforeNextWorker: 8,
    shareInOneWorker: 1,
  }
  const common = {
    ...{ clock, logger: silentLogger, limits },
    nextNumber: () => (workers += 1),
  }
  const pool = createWorkerPool({ ...common, own: createDedicatedWorkers(common) })
  context.after(() => pool.close())
  return {
    pool,
    take(id: string, version = '1.0.0'): WorkerSlot {
      isolates += 1
      return pool.take(isolates, pluginSource('', { id: `@test/${id}`, version }))
    },
    /** Workers that have been started when so much time is over. */
    startedAfter(milliseconds: number): number {
      clock.advance(milliseconds)
      return workers
    },
  }
}

const poolOf = (context: TestContext): ((id: string, version?: string) => WorkerSlot) => stageOf(context).take

test('a moment after a worker was taken one more is kept ready, and not two', async (context) => {
  const { take, startedAfter } = stageOf(context)
  for (const id of ['a', 'b']) take(id)
  const c = take('c')
  assert.deepEqual([startedAfter(spareDelay - 1), startedAfter(1), startedAfter(2 * spareDelay)], [1, 2, 2])
  c.moveAway('memory')
  await c.leave(true)
  assert.deepEqual([take('c').worker, startedAfter(0), startedAfter(spareDelay)], [2, 2, 3])
})

test('the worker that its last plugin has left is kept ready, in the place of a fresh one', async (context) => {
  const { take, startedAfter } = stageOf(context)
  await take('a').leave(true)
  // The one that was due is not started.
  assert.equal(startedAfter(spareDelay), 1)
  const b = take('b')
  assert.deepEqual([b.worker, startedAfter(spareDelay)], [1, 2])
  // The one that was there is ended.
  await b.leave(true)
  assert.deepEqual([take('c').worker, startedAfter(0), startedAfter(spareDelay)], [1, 2, 3])
})

test('workers for the plugins that are expected are started at once, and those that nobody has taken end', async (context) => {
  const { pool, take, startedAfter } = stageOf(context)
  const atFirst = Math.min(2, availableParallelism())
  await pool.expect(16)
  await pool.expect(16)
  assert.equal(startedAfter(0), atFirst)
  await pool.expect(0)
  assert.equal(take('a').worker, atFirst + 1)
  await pool.expect(16)
  assert.equal(startedAfter(0), 2 * atFirst)
  // One stays ready.
  await pool.expect(0)
  assert.equal(startedAfter(spareDelay), Math.max(2 * atFirst, atFirst + 2))
})

test('a pool that is closed starts no worker any more', async (context) => {
  const { pool, take, startedAfter } = stageOf(context)
  take('a')
  const closed = pool.close()
  await pool.expect(16)
  assert.equal(startedAfter(spareDelay), 1)
  await closed
  // But for who comes all the same, and that one ends with it.
  const late = take('b')
  assert.equal(startedAfter(spareDelay), 2)
  await late.leave(true)
})

test('who fills a worker that many share goes into a small group, and nobody into the full one until it is small', async (context) => {
  const take = poolOf(context)
  const [a, b, c] = ['a', 'b', 'c'].map((id) => take(id))
  assert.ok(a && b && c)
  assert.deepEqual([a.worker, b.worker, c.worker], [1, 1, 1])
  assert.equal(a.moveAway('memory'), 'another one')
  await a.leave(true)
  assert.deepEqual([take('a').worker, take('d').worker, take('e').worker, take('f').worker], [2, 2, 3, 3])
  await b.leave(true)
  const again = take('a')
  assert.deepEqual([again.worker, again.isolation], [1, 'shared'])
  assert.equal(take('a', '2.0.0').worker, 3, 'another version may have mended it')
})

test('who has failed to load in a full worker counts as one of those that share it, and is not set apart', async (context) => {
  const take = poolOf(context)
  for (const id of ['a', 'b']) take(id)
  const [c, d] = [take('c'), take('d')]
  await c.leave(true)
  await d.leave(true)
  assert.equal(c.moveAway('memory'), 'another one')
  d.reportWorkerFull()
  assert.deepEqual([take('c').worker, take('d').worker], [2, 2])
})

test('who finds no room in a small group is neither set apart nor crowded out', async (context) => {
  const take = poolOf(context)
  take('a')
  const b = take('b')
  await b.leave(true)
  b.reportWorkerFull()
  assert.deepEqual([take('b').worker, take('c').worker], [1, 1])
})

test('who takes too much of a small group, or too much time, gets a worker of its own until there is another version', (context) => {
  const take = poolOf(context)
  assert.equal(take('a').moveAway('memory'), 'one of its own')
  for (const id of ['b', 'c']) take(id)
  assert.equal(take('d').moveAway('time'), 'one of its own')
  for (const id of ['a', 'd']) assert.equal(take(id).isolation, 'dedicated')
  for (const id of ['a', 'd']) assert.equal(take(id, '1.0.1').isolation, 'shared')
})
