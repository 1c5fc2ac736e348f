import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { createState, evaluate } from './lua-state.ts'

const cases: [title: string, expression: string, expected: unknown][] = [
  ['os.time() is whole seconds', 'os.time()', 1_760_000_000],
  [
    'os.time of a table is local time',
    'os.time{year = 2025, month = 10, day = 9, hour = 10, min = 53, sec = 20}',
    1_760_000_000,
  ],
  ['a missing hour is noon', 'os.time{year = 2025, month = 1, day = 1}', Date.UTC(2025, 0, 1, 11) / 1000],
  [
    'fields may be doubles and numeric strings',
    'os.time{year = "2025", month = 1.0, day = 2 / 2}',
    Date.UTC(2025, 0, 1, 11) / 1000,
  ],
  [
    'fields may lie outside their range',
    'os.time{year = 2025, month = 14, day = -1, hour = 0}',
    Date.UTC(2026, 0, 29, 23) / 1000,
  ],
  ['a small year is that year', 'os.date("%Y", os.time{year = 50, month = 6, day = 1})', '50'],
  ['os.date may be UTC', 'os.date("!%Y-%m-%dT%H:%M:%SZ", 0)', '1970-01-01T00:00:00Z'],
  ['os.date is local time', 'os.date("%Y-%m-%d %H:%M:%S", 1760000000)', '2025-10-09 10:53:20'],
  ['os.date takes any number as time', 'os.date("!%s %X", 1760000000.9)', '1760000000 08:53:20'],
  ['os.date takes a time before 1970', 'os.date("!%F", -86400.5)', '1969-12-30'],
  ['os.date takes a time beyond 32 bits', 'os.date("!%F", 2^33)', '2242-03-16'],
  ['without arguments os.date is %c of now', 'os.date()', 'Thu Oct  9 10:53:20 2025'],
  ['names of days and months', 'os.date("!%a %A %b %B %h", 0)', 'Thu Thursday Jan January Jan'],
  ['numbers of days', 'os.date("!%d|%e|%j|%u|%w", 86400 * 3)', '04| 4|004|7|0'],
  ['hours of a half day', 'os.date("!%I %l %p %P %r", 3600 * 13)', '01  1 PM pm 01:00:00 PM'],
  ['midnight is twelve', 'os.date("!%I %p %k", 0)', '12 AM  0'],
  [
    'dates and times in one letter',
    'os.date("!%D %F %R %T %x %X", 0)',
    '01/01/70 1970-01-01 00:00 00:00:00 01/01/70 00:00:00',
  ],
  ['centuries and years', 'os.date("!%C %y %g %G", 0)', '19 70 70 1970'],
  ['weeks of a year', 'os.date("!%U %W %V", 1760000000)', '40 40 41'],
  ['the ISO week may belong to the next year', 'os.date("!%G-W%V", 1735603200)', '2025-W01'],
  ['the ISO week may belong to the year before', 'os.date("!%G-W%V", 1609459200)', '2020-W53'],
  ['the zone', 'os.date("%z", 0) .. os.date("!%z %Z", 0)', '+0100+0000 UTC'],
  ['the zone in summer', 'os.date("%z", 1752000000)', '+0200'],
  ['the abbreviation of the zone', 'os.date("%Z", 0) .. os.date(" %Z", 1752000000)', 'CET CEST'],
  ['percent, newline and tab', 'os.date("!%%%n%t", 0)', '%\n\t'],
  ['modifiers change nothing', 'os.date("!%Ey %Od", 0)', '70 01'],
  ['text in UTF-8 stays', 'os.date("!%H Uhr – ä", 0)', '00 Uhr – ä'],
  [
    '*t has isdst as a boolean',
    'tostring(os.date("*t", 1752000000).isdst) .. tostring(os.date("*t", 0).isdst)',
    'truefalse',
  ],
  ['!*t is never in daylight saving time', 'os.date("!*t", 1752000000).isdst', false],
  [
    '*t counts days from Sunday and from January',
    'os.date("!*t", 0).wday .. " " .. os.date("!*t", 0).yday',
    '5 1',
  ],
  ['os.difftime subtracts', 'os.difftime(2^40, 1)', 2 ** 40 - 1],
  ['os.clock counts seconds', 'os.clock() >= 0 and os.clock() < 100000', true],
]

describe('os', () => {
  const zone = process.env.TZ
  before(() => {
    process.env.TZ = 'Europe/Berlin'
  })
  after(() => {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  })

  for (const [title, expression, expected] of cases) {
    test(title, () => assert.deepEqual(evaluate(`return ${expression}`)[0], expected))
  }

  test('*t and os.time are inverse to each other, the doubled hour in autumn included', () => {
    const runtime = createState()
    const hour = fc.integer({ min: -2_000_000_000, max: 4_000_000_000 })
    const autumn = fc.integer({ min: 1_761_433_200, max: 1_761_447_600 })
    fc.assert(
      fc.property(fc.oneof(hour, autumn), (seconds) => {
        const [same] = evaluate(`return os.time(os.date("*t", ${seconds}))`, runtime)
        // Within the doubled hour C too may choose either.
        assert.ok(same === seconds || Math.abs(Number(same) - seconds) === 3600)
        if (same !== seconds) assert.ok(seconds >= 1_761_433_200 && seconds <= 1_761_447_600)
      }),
    )
  })

  test('a time that is said to be of summer time is as much earlier as summer time is ahead there', () => {
    const here = process.env.TZ
    try {
      const earlier = ['Europe/Berlin', 'Australia/Lord_Howe', 'Antarctica/Troll', 'UTC'].map((zone) => {
        process.env.TZ = zone
        const month = zone.startsWith('Australia') ? 7 : 1
        const noon = `year = 2026, month = ${month}, day = 15`
        return evaluate(`return os.time{${noon}} - os.time{${noon}, isdst = true}`)[0]
      })
      assert.deepEqual(earlier, [3_600, 1_800, 7_200, 3_600])
    } finally {
      process.env.TZ = here
    }
  })

  test('os.time puts the fields of its table in order', () => {
    assert.deepEqual(
      evaluate(
        'local t = {year = 2025, month = 5, day = 32} os.time(t) return t.month, t.day, t.hour, t.isdst',
      ),
      [6, 1, 12, true],
    )
  })

  test('a missing or wrong field is an error with a position', () => {
    assert.throws(
      () => evaluate('os.time{year = 2025, month = 1}'),
      /init\.lua:1: field 'day' missing in date table/,
    )
    assert.throws(() => evaluate('os.time{year = "x", month = 1, day = 1}'), /field 'year' is not an integer/)
    assert.throws(() => evaluate('os.date("%Q")'), /invalid conversion specifier '%Q'/)
    assert.throws(() => evaluate('os.date("%c", 1e20)'), /cannot be represented/)
    assert.throws(() => evaluate('os.date("%c", 0/0)'), /cannot be represented/)
  })

  test('a wrong argument is an error that names the function, also where Lua has no name for it', () => {
    assert.deepEqual(evaluate('return select(2, pcall(os.date, {}))'), [
      "bad argument #1 to 'os.date' (string expected, got table)",
    ])
  })

  test('there is nothing else in os', () => {
    const [names] = evaluate(
      'local t = {} for k in pairs(os) do t[#t + 1] = k end table.sort(t) return table.concat(t, " ")',
    )
    assert.equal(names, 'clock date difftime time')
  })
})
