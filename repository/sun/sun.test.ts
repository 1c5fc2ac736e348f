import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startOnStage } from '../../test/helpers/plugin-stage.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const unix = (text: string): number => Date.parse(text) / 1000
const london = { latitude: 51.5074, longitude: -0.1278, interval: 60 }

test('it tells sunrise and sunset once each, at the computed second', () => {
  const stage = startOnStage(folder, unix('2024-06-20T00:00:00Z'), london)
  const events = stage.advance(86400)
  assert.deepEqual(
    events.map(({ name }) => name),
    ['sun:rise', 'sun:set'],
  )
  const [rise, set] = events
  assert.ok(Math.abs(Number(rise?.at) - unix('2024-06-20T03:43:00Z')) < 120)
  assert.ok(Math.abs(Number(set?.at) - unix('2024-06-20T20:21:00Z')) < 120)
})

test('the sensors follow the sun', () => {
  const stage = startOnStage(folder, unix('2024-06-20T00:00:00Z'), london)
  assert.equal(stage.sensor('daylight'), false)
  assert.ok(Number(stage.sensor('elevation')) < -10)
  stage.advance(12 * 3600)
  assert.equal(stage.sensor('daylight'), true)
  assert.ok(Math.abs(Number(stage.sensor('elevation')) - 61.9) < 0.2)
  assert.ok(Math.abs(Number(stage.sensor('azimuth')) - 180) < 2)
})

test('a start in daylight is no sunrise', () => {
  const stage = startOnStage(folder, unix('2024-06-20T12:00:00Z'), london)
  assert.deepEqual(stage.advance(3600), [])
})

test('a night that was slept through ends with one sunrise', () => {
  const stage = startOnStage(folder, unix('2024-06-20T22:00:00Z'), london)
  assert.deepEqual(
    stage.jump(10 * 3600).map(({ name }) => name),
    ['sun:rise'],
  )
})

test('a clock that is set by years is no sunrise, and what is shown goes along', () => {
  const stage = startOnStage(folder, 0, london)
  assert.equal(stage.sensor('daylight'), false)
  assert.deepEqual(stage.jump(unix('2024-06-20T12:00:00Z')), [])
  assert.equal(stage.sensor('daylight'), true)
  assert.equal((stage.object('today') as Record<string, unknown>).date, '2024-06-20')
  assert.deepEqual(
    stage.advance(12 * 3600).map(({ name }) => name),
    ['sun:set'],
  )
})

test('the object of the day is renewed after midnight', () => {
  const stage = startOnStage(folder, unix('2024-06-20T12:00:00Z'), london)
  const today = stage.object('today') as Record<string, unknown>
  assert.ok(Math.abs(Number(today.sunriseAt) - unix('2024-06-20T03:43:00Z')) < 120)
  stage.advance(37 * 3600)
  const later = stage.object('today') as Record<string, unknown>
  assert.notEqual(later.date, today.date)
  assert.ok(Math.abs(Number(later.sunriseAt) - Number(today.sunriseAt) - 2 * 86400) < 300)
})

test('in the polar night there is neither sunrise nor sunset', () => {
  const stage = startOnStage(folder, unix('2024-12-21T12:00:00Z'), {
    latitude: 69.6492,
    longitude: 18.9553,
    interval: 60,
  })
  const { polar, sunrise, sunset } = stage.object('today') as Record<string, unknown>
  assert.deepEqual({ polar, sunrise, sunset }, { polar: 'night', sunrise: undefined, sunset: undefined })
  assert.deepEqual(stage.advance(2 * 86400), [])
})

test('a look that is stopped in the midst is not the last one', () => {
  const stage = startOnStage(folder, unix('2024-06-20T00:00:00Z'), london)
  stage.stopNext()
  assert.deepEqual(
    stage.advance(86_400).map(({ name }) => name),
    ['sun:set'],
  )
})
