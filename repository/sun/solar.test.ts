import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'

const solar = openLuaModules(fileURLToPath(new URL('.', import.meta.url)))

interface Day {
  noon: number
  sunrise?: number
  sunset?: number
  polar?: 'day' | 'night'
}

const unix = (text: string): number => Date.parse(text) / 1000
const dayOf = (date: string, offset: string, place: Place): Day =>
  solar.call('solar', 'day', unix(`${date}T12:00:00${offset}`), ...place)[0] as Day
const position = (time: number, place: Place) =>
  solar.call('solar', 'position', time, ...place)[0] as Record<
    'elevation' | 'trueElevation' | 'azimuth',
    number
  >

type Place = [latitude: number, longitude: number]
const london: Place = [51.5074, -0.1278]
const reykjavik: Place = [64.1466, -21.9426]
const quito: Place = [-0.1807, -78.4678]
const sydney: Place = [-33.8688, 151.2093]
const newYork: Place = [40.7128, -74.006]
const tromsø: Place = [69.6492, 18.9553]

/** Sunrise and sunset as almanacs print them, in local time. */
const almanac: [name: string, place: Place, date: string, offset: string, sunrise: string, sunset: string][] =
  [
    ['London, summer solstice', london, '2024-06-20', '+01:00', '2024-06-20T04:43', '2024-06-20T21:21'],
    ['London, winter solstice', london, '2024-12-21', '+00:00', '2024-12-21T08:04', '2024-12-21T15:53'],
    ['Reykjavik, summer', reykjavik, '2024-06-21', '+00:00', '2024-06-21T02:55', '2024-06-22T00:03'],
    ['Reykjavik, winter', reykjavik, '2024-12-21', '+00:00', '2024-12-21T11:22', '2024-12-21T15:29'],
    ['Quito, equinox', quito, '2024-03-20', '-05:00', '2024-03-20T06:17', '2024-03-20T18:24'],
    ['Sydney, winter', sydney, '2024-06-21', '+10:00', '2024-06-21T07:00', '2024-06-21T16:54'],
    ['Sydney, summer', sydney, '2023-12-22', '+11:00', '2023-12-22T05:41', '2023-12-22T20:05'],
    ['New York, summer solstice', newYork, '2024-06-20', '-04:00', '2024-06-20T05:25', '2024-06-20T20:31'],
    ['New York, winter solstice', newYork, '2024-12-21', '-05:00', '2024-12-21T07:17', '2024-12-21T16:32'],
  ]

/** An almanac rounds to the minute, and cities are larger than a point. */
const toleranceSeconds = 120

for (const [name, place, date, offset, sunrise, sunset] of almanac) {
  test(`sunrise and sunset are those of the almanac: ${name}`, () => {
    const day = dayOf(date, offset, place)
    assert.ok(Math.abs(Number(day.sunrise) - unix(`${sunrise}:00${offset}`)) <= toleranceSeconds)
    assert.ok(Math.abs(Number(day.sunset) - unix(`${sunset}:00${offset}`)) <= toleranceSeconds)
    assert.equal(day.polar, undefined)
  })
}

test('at solar noon the sun stands as high as latitude and season say', () => {
  // At the solstices its declination is that of the ecliptic, 23.44°; at the equinox it is 0.
  const heights: [Place, string, number][] = [
    [london, '2024-06-20', 90 - 51.5074 + 23.44],
    [london, '2024-12-21', 90 - 51.5074 - 23.44],
    [sydney, '2024-12-21', 90 - 33.8688 + 23.44],
    [quito, '2024-06-20', 90 - 23.44 - 0.1807],
  ]
  for (const [place, date, height] of heights) {
    const { noon } = dayOf(date, '+00:00', place)
    assert.ok(Math.abs(position(noon, place).trueElevation - height) < 0.05, `${place.join()} ${date}`)
  }
})

test('at noon the sun is due south in the north, and due north in the south', () => {
  const inLondon = position(dayOf('2024-09-01', '+00:00', london).noon, london).azimuth
  const inSydney = position(dayOf('2024-09-01', '+10:00', sydney).noon, sydney).azimuth
  assert.ok(Math.abs(inLondon - 180) < 0.01)
  assert.ok(Math.min(inSydney, 360 - inSydney) < 0.01)
})

test('the declination is zero at the moment of the equinox', () => {
  const [declination] = solar.call('solar', 'declination', unix('2024-03-20T03:06:00Z'))
  assert.ok(Math.abs(Number(declination)) < 0.005)
})

test('within the polar circle the sun stays up in summer and down in winter', () => {
  const { noon: _summerNoon, ...summer } = dayOf('2024-06-21', '+02:00', tromsø)
  const { noon: _winterNoon, ...winter } = dayOf('2024-12-21', '+01:00', tromsø)
  assert.deepEqual([summer, winter], [{ polar: 'day' }, { polar: 'night' }])
})

test('the last sunrise before the midnight sun has no sunset', () => {
  const day = dayOf('2024-05-17', '+02:00', tromsø)
  assert.equal(typeof day.sunrise, 'number')
  assert.deepEqual([day.sunset, day.polar], [undefined, undefined])
})

test('at the poles it is day for half a year', () => {
  const polar = (date: string, latitude: number) => dayOf(date, '+00:00', [latitude, 0]).polar
  assert.deepEqual(
    [polar('2024-06-21', 90), polar('2024-12-21', 90), polar('2024-06-21', -90), polar('2024-12-21', -90)],
    ['day', 'night', 'night', 'day'],
  )
})

test('near the horizon the air lifts the sun by half a degree, overhead not at all', () => {
  const sunrise = Number(dayOf('2024-03-20', '-05:00', quito).sunrise)
  const low = position(sunrise, quito)
  const high = position(dayOf('2024-03-20', '-05:00', quito).noon, quito)
  assert.ok(low.elevation - low.trueElevation > 0.35 && low.elevation - low.trueElevation < 0.65)
  assert.equal(high.elevation, high.trueElevation)
})
