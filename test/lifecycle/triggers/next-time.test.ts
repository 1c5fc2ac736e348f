import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNextTime } from '../../../src/lifecycle/triggers/next-time.ts'
import type { Schedule } from '../../../src/schema/outside/trigger.ts'

/** The next times after one, as UTC without seconds and year. */
async function timesOf(schedule: Schedule, from: string, count: number): Promise<string[]> {
  const next = await createNextTime(schedule, Date.parse(from))
  const times: string[] = []
  let after = Date.parse(from)
  while (times.length < count) {
    const found = next(after)
    if (found === undefined) break
    after = found
    times.push(new Date(found).toISOString().slice(5, 16).replace('T', ' '))
  }
  return times
}

const cron = (expression: string, timezone = 'UTC'): Schedule => ({ kind: 'cron', expression, timezone })
const at = (time: string, timezone = 'UTC', more: object = {}): Schedule => ({
  kind: 'at',
  time,
  timezone,
  ...more,
})

const cases: readonly (readonly [title: string, schedule: Schedule, from: string, times: string[]])[] = [
  ['every five minutes', cron('*/5 * * * *'), '2026-01-01T00:03:00Z', ['01-01 00:05', '01-01 00:10']],
  [
    'lists, ranges and steps',
    cron('0 8-10/2,12 * * *'),
    '2026-01-01T08:00:00Z',
    ['01-01 10:00', '01-01 12:00', '01-02 08:00'],
  ],
  [
    'names of months and days',
    cron('0 0 * feb MON-tue'),
    '2026-01-01T00:00:00Z',
    ['02-02 00:00', '02-03 00:00', '02-09 00:00'],
  ],
  ['0 and 7 for Sunday', cron('0 0 * * 0'), '2026-01-01T00:00:00Z', ['01-04 00:00', '01-11 00:00']],
  ['7 for Sunday', cron('0 0 * * 7'), '2026-01-01T00:00:00Z', ['01-04 00:00', '01-11 00:00']],
  [
    'day of month or of week when both are set',
    cron('0 0 13 * fri'),
    '2026-03-01T00:00:00Z',
    ['03-06 00:00', '03-13 00:00', '03-20 00:00', '03-27 00:00', '04-03 00:00', '04-10 00:00', '04-13 00:00'],
  ],
  ['the 29th of February', cron('0 0 29 2 *'), '2026-01-01T00:00:00Z', ['02-29 00:00']],
  ['a day that one of the months has', cron('0 0 31 apr,jul *'), '2026-01-01T00:00:00Z', ['07-31 00:00']],
  ['a month of some, with a step', cron('0 0 31 2-5/3 *'), '2026-01-01T00:00:00Z', ['05-31 00:00']],
  ['a day of some, with a step', cron('0 0 29-31/2 2 *'), '2026-01-01T00:00:00Z', ['02-29 00:00']],
  ['the first of every thirty days', cron('0 0 */30 2 *'), '2026-01-01T00:00:00Z', ['02-01 00:00']],
  [
    'a day of the week, beside one that never comes',
    cron('0 0 31 2 mon'),
    '2026-01-01T00:00:00Z',
    ['02-02 00:00'],
  ],
  ['an expression with more blanks', cron('  0  7 1 1 * '), '2026-01-01T12:00:00Z', ['01-01 07:00']],
  ['a time of the day', at('07:30', 'Europe/Berlin'), '2026-01-01T06:30:00Z', ['01-02 06:30', '01-03 06:30']],
  ['a zone in other letters', at('07:30', 'europe/BERLIN'), '2026-01-01T06:30:00Z', ['01-02 06:30']],
  [
    'a time of some days',
    at('7:30:00', 'UTC', { days: ['mon', 'Fri'] }),
    '2026-01-01T00:00:00Z',
    ['01-02 07:30', '01-05 07:30', '01-09 07:30'],
  ],
  // Berlin: 02:00 to 03:00 does not exist on 29 March, and exists twice on 25 October 2026.
  [
    'Berlin in spring',
    at('02:30', 'Europe/Berlin'),
    '2026-03-28T00:00:00Z',
    ['03-28 01:30', '03-29 01:00', '03-30 00:30'],
  ],
  [
    'Berlin in spring, several in the gap',
    cron('0,15,30 2 * * *', 'Europe/Berlin'),
    '2026-03-28T12:00:00Z',
    ['03-29 01:00', '03-30 00:00', '03-30 00:15'],
  ],
  [
    'Berlin in spring, around the gap',
    cron('*/20 * * * *', 'Europe/Berlin'),
    '2026-03-29T00:30:00Z',
    ['03-29 00:40', '03-29 01:00', '03-29 01:20'],
  ],
  ['Berlin in autumn', at('02:30', 'Europe/Berlin'), '2026-10-24T12:00:00Z', ['10-25 00:30', '10-26 01:30']],
  [
    'Berlin in autumn, several in the hour',
    cron('0,30 2 * * *', 'Europe/Berlin'),
    '2026-10-24T12:00:00Z',
    ['10-25 00:00', '10-25 00:30', '10-26 01:00'],
  ],
  [
    'Berlin in autumn, from the second pass on',
    cron('*/30 * * * *', 'Europe/Berlin'),
    '2026-10-25T01:10:00Z',
    ['10-25 02:00', '10-25 02:30'],
  ],
  // New York: 8 March and 1 November 2026.
  [
    'New York in spring',
    cron('30 2 * * *', 'America/New_York'),
    '2026-03-07T12:00:00Z',
    ['03-08 07:00', '03-09 06:30'],
  ],
  [
    'New York in autumn',
    cron('30 1 * * *', 'America/New_York'),
    '2026-10-31T12:00:00Z',
    ['11-01 05:30', '11-02 06:30'],
  ],
  [
    'New York, within the hour',
    cron('0 * * * *', 'America/New_York'),
    '2026-01-01T12:30:00Z',
    ['01-01 13:00', '01-01 14:00'],
  ],
  // Lord Howe moves by half an hour: 02:00 to 02:30 on 4 October does not exist, 01:30 to 02:00 on 5 April exists twice.
  [
    'Lord Howe in spring',
    cron('15 2 * * *', 'Australia/Lord_Howe'),
    '2026-10-02T16:00:00Z',
    ['10-03 15:30', '10-04 15:15'],
  ],
  [
    'Lord Howe in autumn',
    at('01:45', 'Australia/Lord_Howe'),
    '2026-04-03T16:00:00Z',
    ['04-04 14:45', '04-05 15:15'],
  ],
]

for (const [title, schedule, from, times] of cases)
  test(`the next times of ${title} are right`, async () => {
    assert.deepEqual(await timesOf(schedule, from, times.length), times)
  })

test('a time has seconds, up to the last one of the day', async () => {
  const midnight = Date.parse('2026-01-01T00:00:00Z')
  for (const [time, seconds] of [
    ['07:30:15', 27_015],
    ['23:59:59', 86_399],
  ] as const) {
    const next = await createNextTime(at(time), midnight)
    assert.equal(next(midnight), midnight + seconds * 1_000)
  }
})

test('an event of the sun may be written in capitals, and be at the date line', async () => {
  const place = { latitude: 0, longitude: -180 }
  assert.equal((await timesOf(at(' Sunset ', 'UTC', place), '2026-01-01T00:00:00Z', 1)).length, 1)
})

test('the last day of each month comes', async () => {
  const last = [
    '01-31',
    '02-29',
    '03-31',
    '04-30',
    '05-31',
    '06-30',
    '07-31',
    '08-31',
    '09-30',
    '10-31',
    '11-30',
    '12-31',
  ]
  for (const date of last) {
    const [month, day] = date.split('-').map(Number)
    assert.deepEqual(await timesOf(cron(`0 7 ${day} ${month} *`), '2026-01-01T00:00:00Z', 1), [
      `${date} 07:00`,
    ])
  }
})

test('what is nearly a day behind a sunset after midnight is found up to its last minute, whenever one asks', async () => {
  const nights: [from: string, timezone: string, place: object][] = [
    ['2026-06-20T12:00:00Z', 'Atlantic/Reykjavik', { latitude: 64.15, longitude: -21.94 }],
    // A zone on the other side of the Earth.
    ['2026-03-25T12:00:00Z', 'Europe/Berlin', { latitude: -36.85, longitude: 174.76 }],
  ]
  for (const [from, timezone, place] of nights)
    for (const time of ['sunset+23:59', 'sunset-23:59', 'sunrise+23:59', 'sunrise-23:59']) {
      const next = await createNextTime(at(time, timezone, place), Date.parse(from))
      let last = next(Date.parse(from)) ?? 0
      for (let count = 0; count < 5; count += 1) {
        const following = next(last) ?? 0
        const hours = (following - last) / 3_600_000
        assert.ok(hours > 23.5 && hours < 24.5, `${time} ${timezone}: ${hours} h`)
        assert.equal(next(following - 60_000), following, `${time} ${timezone}`)
        last = following
      }
    }
})

test('what is so long behind sunset that it comes on the next day is not left out on that day', async () => {
  const [first] = await timesOf(
    at('sunset+06:00', 'Europe/Berlin', { latitude: 52.52, longitude: 13.405 }),
    '2026-06-21T23:00:00Z',
    1,
  )
  assert.match(first ?? '', /^06-22 01:3\d$/)
})

for (const [zone, latitude, longitude] of [
  // The place is to the east of the date line, and has the date of those to the west of it.
  ['Pacific/Chatham', -43.95, -176.56],
  ['Pacific/Kiritimati', 1.87, -157.4],
  ['Pacific/Fiji', -18.1, 178.4],
  ['America/Adak', 51.9, -176.6],
] as const)
  test(`the sun rises in ${zone} on the day that it is there`, async () => {
    const schedule = at('sunrise', zone, { latitude, longitude, days: ['mon'] })
    const next = await createNextTime(schedule, 0)
    const shown = new Date(next(Date.parse('2026-11-01T00:00:00Z')) ?? 0).toLocaleString('en-US', {
      ...{ timeZone: zone, weekday: 'short', day: 'numeric' },
    })
    assert.equal(shown, '2 Mon')
  })

test('where the sun does not rise the next sunrise is that after the polar night', async () => {
  const [first = ''] = await timesOf(
    at('sunrise', 'UTC', { latitude: 78.2, longitude: 15.6 }),
    '2026-11-20T12:00:00Z',
    1,
  )
  assert.match(first, /^02-1\d /)
})

// As the US Naval Observatory computes them, in UTC.
for (const [date, sunrise, sunset] of [
  ['2026-06-21', '02:43', '19:33'],
  ['2026-12-21', '07:15', '14:54'],
] as const)
  test(`sun times of Berlin on ${date} are right to three minutes`, async () => {
    const place = { latitude: 52.52, longitude: 13.405 }
    for (const [event, expected] of [
      ['sunrise', sunrise],
      ['sunset', sunset],
    ] as const) {
      const next = await createNextTime(at(event, 'Europe/Berlin', place), Date.parse(`${date}T00:00:00Z`))
      const off = (next(Date.parse(`${date}T00:00:00Z`)) ?? 0) - Date.parse(`${date}T${expected}:00Z`)
      assert.ok(Math.abs(off) <= 180_000, `${event}: ${off / 1000} s`)
      for (const [offset, minutes] of [
        ['+00:59', 59],
        ['-01:10', -70],
      ] as const) {
        const moved = await createNextTime(at(`${event}${offset}`, 'Europe/Berlin', place), 0)
        const difference =
          (moved(Date.parse(`${date}T00:00:00Z`)) ?? 0) - (next(Date.parse(`${date}T00:00:00Z`)) ?? 0)
        assert.equal(difference, minutes * 60_000)
      }
    }
  })

for (const [schedule, problem] of [
  [cron('* * * *'), /no cron expression: five fields/],
  [cron('* * * * * *'), /five fields/],
  [cron('@daily'), /five fields/],
  [cron('0 0 L * *'), /five fields/],
  [cron('0 0 ? * *'), /five fields/],
  [cron('jan * * * *'), /five fields/],
  [cron('61 * * * *'), /no cron expression: Invalid value for minute/],
  [cron('*/0 * * * *'), /no cron expression/],
  [cron('5-1 * * * *'), /no cron expression/],
  [cron('0 0 30 2 *'), /^Error: it has no next time$/],
  [cron('0 0 31 apr,jun *'), /it has no next time/],
  [cron('0 0 31 2-6/2 *'), /it has no next time/],
  [cron('* * * * *', 'Mars/Base'), /there is no time zone 'Mars\/Base'/],
  [at('25:00'), /'25:00' is no time/],
  [at('24:00'), /is no time/],
  [at('07:60'), /is no time/],
  [at('07:30:60'), /is no time/],
  [at('7.30'), /is no time/],
  [at('07:30', 'UTC', { days: ['monday'] }), /'monday' is no day/],
  [at('sunrise'), /sunrise needs latitude/],
  [at('sunrise', 'UTC', { latitude: 1 }), /needs latitude .* and longitude/],
  [at('sunrise', 'UTC', { longitude: 1 }), /needs latitude/],
  [at('sunset', 'UTC', { latitude: 0, longitude: 180.1 }), /needs latitude .* and longitude \(-180 to 180\)/],
  [at('sunset-1:30', 'UTC', { latitude: 91, longitude: 0 }), /needs latitude/],
  [at('sunset+24:00', 'UTC', { latitude: 1, longitude: 0 }), /is no time/],
  [at('sunset+00:75', 'UTC', { latitude: 1, longitude: 0 }), /is no time/],
  [at('sunrise', 'UTC', { latitude: 90, longitude: 0, days: ['mon'] }), /it has no next time/],
] as const)
  test(`${JSON.stringify(schedule)} is refused`, async () => {
    await assert.rejects(createNextTime(schedule, Date.parse('2026-01-01T00:00:00Z')), problem)
  })

test("without a zone it is that of the host's process, also one that Node has no name for", async () => {
  const before = process.env.TZ
  const found: Record<string, string[]> = {}
  try {
    for (const zone of ['Europe/Berlin', 'GMT+2', 'UTC0', '']) {
      process.env.TZ = zone
      found[zone] = await timesOf({ kind: 'at', time: '07:30' }, '2026-03-27T12:00:00Z', 2)
    }
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  }
  assert.deepEqual(found, {
    // Summer time begins on the 29th.
    'Europe/Berlin': ['03-28 06:30', '03-29 05:30'],
    'GMT+2': ['03-28 09:30', '03-29 09:30'],
    UTC0: ['03-28 07:30', '03-29 07:30'],
    '': ['03-28 07:30', '03-29 07:30'],
  })
})
