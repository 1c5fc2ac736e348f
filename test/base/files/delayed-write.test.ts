import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDelayedWrite } from '../../../src/base/files/delayed-write.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('who lets go of what waits for no write has it written, and leaves no timer, whenever it has changed', async () => {
  for (let turns = 0; turns < 20; turns += 1) {
    const clock = createManualClock()
    let value = 'first'
    let written = ''
    let isHeld = true
    const file = createDelayedWrite(
      clock,
      async () => {
        const taken = value
        await Promise.resolve()
        written = taken
      },
      (error) => assert.ifError(error),
    )
    async function changeLater() {
      for (let passed = 0; passed < turns; passed += 1) await Promise.resolve()
      if (!isHeld) return
      value = 'second'
      file.changed()
    }
    file.changed()
    const changing = changeLater()
    await file.flush()
    isHeld = file.isWaiting
    await changing
    assert.equal(clock.waiting, isHeld ? 1 : 0, `after ${turns} turns`)
    if (!isHeld) assert.equal(written, value, `after ${turns} turns`)
    clock.advance(1_000)
    await file.flush()
    assert.deepEqual([written, clock.waiting], [value, 0], `after ${turns} turns`)
  }
})
