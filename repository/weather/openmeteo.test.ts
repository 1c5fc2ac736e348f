import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/text/json.ts'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { forecastAnswer } from './forecast-answer.ts'

const lua = openLuaModules(fileURLToPath(new URL('.', import.meta.url)))
const call = (name: string, ...args: Json[]): any => lua.call('openmeteo', name, ...args)[0]

test('a request names the place, the values, and the days of the place', () => {
  const parameters = call('parameters', { lat: 51.5, lon: -0.12, units: 'metric', days: 3 })
  assert.deepEqual(
    { ...parameters, current: parameters.current.split(','), daily: parameters.daily.split(',') },
    {
      latitude: 51.5,
      longitude: -0.12,
      forecast_days: 3,
      timezone: 'auto',
      timeformat: 'unixtime',
      current: [
        'apparent_temperature',
        'cloud_cover',
        'is_day',
        'precipitation',
        'pressure_msl',
        'relative_humidity_2m',
        'temperature_2m',
        'weather_code',
        'wind_direction_10m',
        'wind_gusts_10m',
        'wind_speed_10m',
      ],
      daily: [
        'precipitation_probability_max',
        'precipitation_sum',
        'sunrise',
        'sunset',
        'temperature_2m_max',
        'temperature_2m_min',
        'weather_code',
        'wind_speed_10m_max',
      ],
    },
  )
})

test('imperial units are asked for, metric ones are what comes by itself', () => {
  const units = (name: string): unknown[] => {
    const given = call('parameters', { lat: 0, lon: 0, units: name, days: 1 })
    return [given.temperature_unit, given.wind_speed_unit, given.precipitation_unit]
  }
  assert.deepEqual(units('imperial'), ['fahrenheit', 'mph', 'inch'])
  assert.deepEqual(units('metric'), [undefined, undefined, undefined])
})

test('an answer becomes the current weather and a list of days', () => {
  const { current, days } = call('read', forecastAnswer())
  assert.deepEqual(current, {
    temperature: 18.4,
    feelsLike: 17.9,
    humidity: 62,
    pressure: 1016.2,
    precipitation: 0,
    cloudCover: 40,
    windSpeed: 11.5,
    windGusts: 24.1,
    windDirection: 250,
    code: 2,
    condition: 'partly-cloudy',
    text: 'Partly cloudy',
    isDay: true,
    observedAt: 1781960400,
  })
  assert.equal(days.length, 2)
  assert.deepEqual(days[0], {
    date: '2026-06-20',
    temperatureMin: 12.1,
    temperatureMax: 22.8,
    precipitation: 0.4,
    precipitationProbability: 35,
    windSpeedMax: 19.8,
    sunriseAt: 1781926980,
    sunsetAt: 1781986860,
    code: 61,
    condition: 'rain',
    text: 'Light rain',
  })
})

test('a day has the date of the place, wherever that is', () => {
  // Midnight in Auckland is the noon before in Greenwich.
  const midnight = Date.parse('2026-06-20T00:00:00+12:00') / 1000
  const answer = forecastAnswer()
  const auckland = { ...answer, utc_offset_seconds: 12 * 3600, daily: { ...answer.daily, time: [midnight] } }
  assert.deepEqual(
    call('read', auckland).days.map(({ date }: { date: string }) => date),
    ['2026-06-20'],
  )
})

test('what is missing in an answer is absent, and no reason to fail', () => {
  const answer = forecastAnswer()
  const { current, days } = call('read', {
    ...answer,
    current: { time: 1781960400, temperature_2m: 3, weather_code: 1234 },
    daily: { time: answer.daily.time, weather_code: [null, 0] },
  })
  assert.deepEqual(current, {
    temperature: 3,
    code: 1234,
    condition: 'unknown',
    text: 'Unknown weather',
    observedAt: 1781960400,
  })
  assert.deepEqual(
    days.map(({ condition }: { condition: string }) => condition),
    ['unknown', 'clear'],
  )
})

for (const [what, answer, reason] of [
  ['a page', 'Welcome', 'the answer is not JSON'],
  ['an empty document', {}, 'the answer has no current weather'],
  ['text for a temperature', { current: { temperature_2m: 'warm' } }, 'the answer has no current weather'],
  ['no days', { current: { temperature_2m: 1 } }, 'the answer has no forecast'],
  ['days of another kind', { current: { temperature_2m: 1 }, daily: 7 }, 'the answer has no forecast'],
] as [string, Json, string][]) {
  test(`${what} is no answer`, () => {
    assert.deepEqual(lua.call('openmeteo', 'read', answer), [undefined, reason])
  })
}

test('what may pass is tried again, and a refusal is not', () => {
  const failure = (response: Json): unknown[] => lua.call('openmeteo', 'failure', response)
  assert.deepEqual(failure({ status: 0, err: 'timeout after 15000 ms' }), ['timeout after 15000 ms', true])
  assert.deepEqual(failure({ status: 503, err: 'HTTP 503' }), ['HTTP 503', true])
  assert.deepEqual(failure({ status: 429, err: 'HTTP 429', json: { reason: 'Too many requests' } }), [
    'HTTP 429: Too many requests',
    true,
  ])
  assert.deepEqual(
    failure({ status: 400, err: 'HTTP 400', json: { error: true, reason: 'No such place' } }),
    ['HTTP 400: No such place', false],
  )
})

test('changes are named, also within lists, and ignored names are not', () => {
  const between = (a: Json, b: Json): unknown => lua.call('changes', 'between', a, b, { at: true })[0]
  assert.deepEqual(between({ a: 1, b: 2, c: 3, at: 1 }, { a: 1, b: 5, d: 4, at: 2 }), ['b', 'c', 'd'])
  assert.deepEqual(between({ days: [{ min: 1 }] }, { days: [{ min: 1 }] }), {})
  assert.deepEqual(between({ days: [{ min: 1 }] }, { days: [{ min: 2 }] }), ['days'])
})
