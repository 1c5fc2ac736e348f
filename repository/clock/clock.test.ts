import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { startOnStage } from '../../test/helpers/plugin-stage.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const unix = (text: string): number => Date.parse(text) / 1000

test('a moment is described in full', () => {
  const [description] = openLuaModules(folder).call('moment', 'describe', unix('2026-06-21T15:05:09Z'), true)
  assert.deepEqual(description, {
    timestamp: 1782054309,
    iso: '2026-06-21T15:05:09Z',
    date: '2026-06-21',
    time: '15:05',
    year: 2026,
    month: 6,
    day: 21,
    hour: 15,
    minute: 5,
    weekday: 7,
  })
})

test('local time is written with its offset', () => {
  const [description] = openLuaModules(folder).call('moment', 'describe', unix('2026-06-21T15:05:09Z'), false)
  const { iso } = description as { iso: string }
  assert.match(iso, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
  assert.equal(unix(iso), 1782054309)
})

test('each minute is told in its first tenth of a second, on the minute', () => {
  const stage = startOnStage(folder, unix('2026-06-21T15:05:09.7Z'), { utc: true })
  assert.deepEqual(
    stage.advance(180).map(({ name, at, data }) => [name, at, data.time]),
    [
      ['clock:minute', unix('2026-06-21T15:06:00Z'), '15:06'],
      ['clock:minute', unix('2026-06-21T15:07:00Z'), '15:07'],
      ['clock:minute', unix('2026-06-21T15:08:00Z'), '15:08'],
    ],
  )
})

test('midnight is a new minute, a new hour and a new day, in this order', () => {
  const stage = startOnStage(folder, unix('2026-12-31T23:59:30Z'), { utc: true })
  assert.deepEqual(
    stage.advance(60).map(({ name, data }) => [name, data.iso]),
    ['clock:minute', 'clock:hour', 'clock:day'].map((name) => [name, '2027-01-01T00:00:00Z']),
  )
})

test('hours that were slept through are told as one', () => {
  const stage = startOnStage(folder, unix('2026-06-21T15:05:09Z'), { utc: true })
  assert.deepEqual(
    stage.jump(5 * 3600).map(({ name, data }) => [name, data.time]),
    [
      ['clock:minute', '20:05'],
      ['clock:hour', '20:05'],
    ],
  )
})

test('the hour that comes twice when summer time ends is told twice', () => {
  const changes = openLuaModules(folder).call(
    'moment',
    'changes',
    { timestamp: 1_792_889_940, date: '2026-10-25', hour: 2, minute: 59 },
    { timestamp: 1_792_890_000, date: '2026-10-25', hour: 2, minute: 0 },
  )
  assert.deepEqual(changes, [['clock:minute', 'clock:hour']])
})

test('a clock that is corrected tells no hour and no day twice, and one that is set back tells the other minute', () => {
  const stage = startOnStage(folder, unix('2026-06-21T23:59:59Z'), { utc: true })
  assert.equal(stage.advance(3).length, 3)
  assert.deepEqual(stage.jump(-4), [])
  assert.deepEqual(stage.advance(30), [])
  assert.deepEqual(
    stage.advance(60).map(({ name, data }) => [name, data.time]),
    [['clock:minute', '00:01']],
  )
  stage.advance(600)
  assert.deepEqual(
    stage.jump(-300).map(({ name, data }) => [name, data.time]),
    [['clock:minute', '00:06']],
  )
})

test('the object and the sensor show the minute that was told last', () => {
  const stage = startOnStage(folder, unix('2026-06-21T15:05:50Z'), { utc: true })
  const shown = () => [(stage.object('time') as { time: string }).time, stage.sensor('time')]
  assert.deepEqual(shown(), ['15:05', '15:05'])
  stage.advance(15)
  assert.deepEqual(shown(), ['15:06', '15:06'])
})

test('a look that is stopped in the midst is not the last one', () => {
  const stage = startOnStage(folder, unix('2026-06-21T15:05:09Z'), { utc: true })
  stage.stopNext()
  assert.deepEqual(
    stage.advance(120).map(({ data }) => data.time),
    ['15:07'],
  )
})
