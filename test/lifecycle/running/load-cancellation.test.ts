import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLoadCancellation } from '../../../src/lifecycle/running/load-cancellation.ts'
import { createDeferred } from '../../../src/base/time/deferred.ts'

const id = '@test/clock'

test('a command that ends only what waits for the network leaves other loads, and what an update fetches', async () => {
  const loads = createLoadCancellation()
  const update = loads.beginFetch(id)
  const load = loads.begin(id)
  const release = loads.hold(id, 'configure (http)', 'fetch of a load')
  assert.deepEqual([load.signal.aborted, update.signal.aborted], [false, false])
  assert.equal(release(), false)
})

test('a load ends when it comes to wait for the network while such a command waits for its turn, and is no interruption', async () => {
  const loads = createLoadCancellation()
  const load = loads.begin(id)
  const release = loads.hold(id, 'configure (http)', 'fetch of a load')
  await load.whileFetching(async () => assert.equal(load.signal.reason, 'interrupted by configure (http)'))
  load.finish()
  assert.equal(release(), true)
  assert.equal(loads.takeInterruption(id), undefined)
})

test('once a load has what it waited for it goes on', async () => {
  const loads = createLoadCancellation()
  const load = loads.begin(id)
  const arrived = createDeferred<undefined>()
  const fetched = load.whileFetching(() => arrived.promise)
  arrived.resolve(undefined)
  await fetched
  loads.hold(id, 'configure (http)', 'fetch of a load')
  assert.equal(load.signal.aborted, false)
})

test('a command that ends everything is an interruption, also behind one that ends less', async () => {
  const loads = createLoadCancellation()
  const load = loads.begin(id)
  loads.hold(id, 'configure (http)', 'fetch of a load')
  loads.hold(id, 'uninstall (http)')
  assert.equal(load.signal.reason, 'interrupted by uninstall (http)')
  load.finish()
  assert.equal(loads.takeInterruption(id), 'uninstall (http)')
})
