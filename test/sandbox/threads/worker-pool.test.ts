import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { defaultLimits } from '../../../src/sandbox/limits.ts'
import { createOwnWorkers } from '../../../src/sandbox/threads/own-workers.ts'
import { createWorkerPool } from '../../../src/sandbox/threads/worker-pool.ts'
import type { WorkerSlot } from '../../../src/sandbox/threads/worker-slot.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { pluginSource } from '../stage.ts'

/** A pool in which all go into one worker, as long as nothing is wrong; a small group has two. */
function poolOf(context: TestContext): (id: string, version?: string) => WorkerSlot {
  let workers = 0
  let isolates = 0
  const limits = {
    ...defaultLimits,
    isolatesInSmallGroup: 2,
    isolatesBeforeNextWorker: 8,
    shareInOneWorker: 1,
  }
  const common = {
    ...{ clock: createManualClock(), logger: silentLogger, limits },
    nextNumber: () => (workers += 1),
  }
  const pool = createWorkerPool({ ...common, own: createOwnWorkers(common) })
  context.after(() => pool.close())
  return (id, version = '1.0.0') => {
    isolates += 1
    return pool.take(isolates, pluginSource('', { id: `@test/${id}`, version }))
  }
}

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
  d.crowdOut()
  assert.deepEqual([take('c').worker, take('d').worker], [2, 2])
})

test('who finds no room in a small group is neither set apart nor crowded out', async (context) => {
  const take = poolOf(context)
  take('a')
  const b = take('b')
  await b.leave(true)
  b.crowdOut()
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
