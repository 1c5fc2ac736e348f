import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSilence } from '../../../src/outside/connections/silence.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('silence is told when nothing has come for a while, and not while nobody reads', () => {
  const clock = createManualClock()
  let told = 0
  const silence = createSilence(clock, 5, () => (told += 1))
  const after = (milliseconds: number): number => {
    clock.advance(milliseconds)
    return told
  }
  assert.equal(after(50), 0)
  // There is no silence before anything has come.
  silence.pause()
  silence.resume()
  assert.equal(after(50), 0)
  silence.broken()
  assert.equal(after(4), 0)
  silence.broken()
  assert.equal(after(4), 0)
  assert.equal(after(1), 1)
  assert.equal(after(50), 1)
  silence.broken()
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
  silence.broken()
  assert.equal(after(50), 2)
  silence.resume()
  assert.equal(after(5), 3)
  silence.broken()
  silence.close()
  assert.equal(after(50), 3)
})
