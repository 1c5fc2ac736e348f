import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { withStage } from '../plugins-stage.ts'
import { json } from '../stage.ts'

const heartbeatInterval = 11
/** Long enough for the work after it to be hardly anything, and for the worker not to be asked for signs of life any more. */
const beatsAtRest = 150
const beatsAfterwards = 5

test('a worker that works after a long rest is as busy as it is, not as it was on average since it rested', async () => {
  /** At the end of each beat. */
  let beaten = (): void => undefined
  let mayBeat = Promise.resolve()
  const clock: Clock = {
    ...systemClock,
    schedule(milliseconds, callback) {
      if (milliseconds !== heartbeatInterval) return systemClock.schedule(milliseconds, callback)
      beaten()
      let isCancelled = false
      const beat = (): void => {
        if (!isCancelled) callback()
      }
      const call = systemClock.schedule(milliseconds, () => void mayBeat.then(beat))
      return {
        cancel() {
          isCancelled = true
          call.cancel()
        },
      }
    },
  }
  const afterBeats = (count: number, each: () => void = () => undefined): Promise<void> =>
    new Promise((resolve) => {
      let left = count
      beaten = () => {
        each()
        left -= 1
        if (left === 0) resolve()
      }
    })
  await withStage(
    async ({ load, sandbox }) => {
      const { isolate, recorder } = await load(
        'late',
        `plugin:on("go", function() for i = 1, 1e7 do end print("done") end)`,
      )
      await afterBeats(beatsAtRest)
      mayBeat = recorder.logged('done').then(() => undefined)
      isolate.deliverEvent('go', json(1))
      const loads: number[] = []
      await afterBeats(beatsAfterwards, () => loads.push(sandbox.usage()[0]?.load ?? 0))
      assert.ok(Math.max(...loads) > 0.5, String(loads))
    },
    { heartbeatInterval, callbackTime: 60_000, unresponsiveAfter: 90_000 },
    'dedicated',
    { clock },
  )
})
