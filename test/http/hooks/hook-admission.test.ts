import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHookAdmission, concurrentHooksLimit } from '../../../src/http/hooks/hook-admission.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

const never = new AbortController().signal
const tooMany = { code: 'hook_unavailable' }

async function allTaken() {
  const clock = createManualClock()
  const places = createHookAdmission(clock)
  const leaves = await Promise.all(
    Array.from({ length: concurrentHooksLimit }, () => places.take('@a/b', never)),
  )
  return { clock, places, leaves }
}

test('a request waits ten seconds for its place, and no longer', async () => {
  const { clock, places, leaves } = await allTaken()
  let isRefused = false
  const refused = assert.rejects(places.take('@a/b', never), tooMany).then(() => (isRefused = true))
  clock.advance(9_999)
  await new Promise(setImmediate)
  assert.equal(isRefused, false)
  clock.advance(1)
  await refused
  const inTime = places.take('@a/b', never)
  clock.advance(9_999)
  leaves[0]?.()
  await inTime
  assert.equal(clock.waiting, 0)
})

test('whoever has left does not wait, and another plugin has places of its own', async () => {
  const { clock, places } = await allTaken()
  const gone = new AbortController()
  const left = assert.rejects(places.take('@a/b', gone.signal), tooMany)
  gone.abort()
  await left
  assert.equal(clock.waiting, 0)
  await assert.rejects(places.take('@a/c', gone.signal), tooMany)
  await places.take('@a/c', never)
})
