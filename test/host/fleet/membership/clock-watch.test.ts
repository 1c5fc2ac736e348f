import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchClocks } from '../../../../src/host/fleet/membership/clock-watch.ts'
import { createRecordingLogger } from '../../../bus/bus-fixture.ts'
import { createManualClock } from '../../../helpers/manual-clock.ts'

test('a host whose clock is wrong is told of once by the others, and that it is right again', async (t) => {
  const clock = createManualClock()
  const logger = createRecordingLogger()
  let ahead = -3 * 86_400_000
  const stop = watchClocks({
    ...{ clock, logger, others: () => ['cellar', 'attic', 'silent'] },
    askTime: async (host) => {
      if (host === 'silent') throw new Error('no answer')
      return clock.now() + (host === 'cellar' ? ahead : 900)
    },
  })
  t.after(stop)
  const minute = async (): Promise<void> => {
    clock.advance(60_000)
    await new Promise(setImmediate)
  }
  await minute()
  await minute()
  ahead = 0
  await minute()
  assert.deepEqual(
    logger.lines.map(({ level, message, fields }) => [level, message.replace(/:.*/, ''), fields]),
    [
      [
        'warn',
        'The clock of another host of the fleet is not that of this one',
        { host: 'cellar', secondsAhead: -259_200 },
      ],
      ['info', 'The clock of another host of the fleet is that of this one again', { host: 'cellar' }],
    ],
  )
})
