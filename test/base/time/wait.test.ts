import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { waitUntil, pause, waitAtMost } from '../../../src/base/time/wait.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('a pause ends after its time, or when nobody waits any more, and leaves nothing behind', async () => {
  const clock = createManualClock()
  const controller = new AbortController()
  const paused = pause(clock, 100, controller.signal)
  clock.advance(100)
  await paused
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  const cut = pause(clock, 100, controller.signal)
  controller.abort()
  await cut
  await pause(clock, 100, controller.signal)
  assert.equal(clock.waiting, 0)
})

test('what is waited for at most so long may fail, or never come', async () => {
  const clock = createManualClock()
  await waitAtMost(clock, 100, Promise.resolve())
  await waitAtMost(clock, 100, Promise.reject(new Error('it failed')))
  const never = waitAtMost(clock, 100, new Promise(() => undefined))
  clock.advance(100)
  await never
  assert.equal(clock.waiting, 0)
})

test('what is to become so is looked at now, at each change, and no longer than it is waited for', async () => {
  const clock = createManualClock()
  const listeners = new Set<() => void>()
  const onChange = (listener: () => void): (() => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  const changed = (): void => {
    for (const listener of [...listeners]) listener()
  }
  let isSo = true
  assert.equal(await waitUntil(clock, 100, () => isSo, onChange), true)
  isSo = false
  const becoming = waitUntil(clock, 100, () => isSo, onChange)
  changed()
  isSo = true
  changed()
  assert.equal(await becoming, true)
  isSo = false
  const late = waitUntil(clock, 100, () => isSo, onChange)
  clock.advance(100)
  assert.equal(await late, false)
  assert.deepEqual([clock.waiting, listeners.size], [0, 0])
})
