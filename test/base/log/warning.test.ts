import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWarner, subjectsLimit } from '../../../src/base/log/warning.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('A warning comes once in ten seconds for each subject, of many at once for the first ones, and says how many were left out', () => {
  const clock = createManualClock()
  const logger = createRecordingLogger()
  const warn = createWarner(logger, clock)
  const told = () => logger.lines.splice(0).map(({ message, fields }) => [message, fields])
  warn('full')
  warn('full')
  warn('refused', { topic: 'a' }, 'a')
  warn('refused', { topic: 'b' }, 'b')
  warn('refused', { topic: 'a' }, 'a')
  assert.deepEqual(told(), [
    ['full', {}],
    ['refused', { topic: 'a' }],
    ['refused', { topic: 'b' }],
  ])
  clock.advance(10_000)
  warn('full')
  for (let topic = 0; topic < subjectsLimit + 5; topic += 1) warn('refused', {}, String(topic))
  const late = told()
  assert.deepEqual(late.slice(0, 3), [
    ['full', { suppressed: 1 }],
    ['refused', { suppressed: 1 }],
    ['refused', {}],
  ])
  assert.equal(late.length, 1 + subjectsLimit)
  clock.advance(10_000)
  warn('refused', {}, '0')
  assert.deepEqual(told(), [['refused', { suppressed: 5 }]])
})
