import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createIdleTimer } from '../../../src/outside/connections/idle-timer.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('silence is told when nothing has come for a while, and not while nobody reads', () => {
  const clock = createManualClock()
  let told = 0
  const silence = createIdleTimer(clock, 5, () => (told += 1))
  const after = (milliseconds: number): number => {
    clock.advance(milliseconds)
    return told
  }
  assert.equal(after(50), 0)
  // There is no silence before anything has come.
  silence.pause()
  silence.resume()
  assert.equal(after(50), 0)
  silence.reset()
  assert.equal(after(4), 0)
  silence.reset()
  assert.equal(after(4), 0)
  assert.equal(after(1), 1)
  assert.equal(after(50), 1)
  silence.reset()
  silence.pause()
  assert.equal(after(50), 1)
  silence.resume()
  assert.equal(after(5), 2)
  // Nothing has come since.
  silence.pause()
  silence.resume()
  assert.equal(after(50), 2)
  // As when the plugin is behind with just that.
  silence.pause()
  silence.reset()
  assert.equal(after(50), 2)
  silence.resume()
  assert.equal(after(5), 3)
  silence.reset()
  silence.close()
  assert.equal(after(50), 3)
})

test('what has come while the host was busy is read before silence is told, and where it is always busy that is told all the same', () => {
  const clock = createManualClock()
  let told = 0
  const silence = createIdleTimer(clock, 5, () => (told += 1))
  /** The timer is called late, and before anything is read. */
  const busyFor = (milliseconds: number): number => {
    clock.pause(milliseconds)
    clock.advance(0)
    return told
  }
  silence.reset()
  assert.equal(busyFor(6), 0)
  silence.reset()
  clock.advance(4)
  assert.equal(told, 0)
  clock.advance(1)
  assert.equal(told, 1)
  silence.reset()
  assert.deepEqual([busyFor(20), busyFor(20), busyFor(20)], [1, 1, 2])
})
