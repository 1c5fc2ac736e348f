import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/text/json.ts'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'
import { starterRows } from '../../test/helpers/starter-rows.ts'

/** A parsed schedule stays in Lua: its sets of numbers would not survive the way out and in. */
const probe = `
local cron = require("cron")
return { next = function(expression, now) return cron.next(cron.parse(expression), now) end }
`
const folder = fileURLToPath(new URL('.', import.meta.url))
const lua = openLuaModules(folder, {
  probe: new TextEncoder().encode(probe),
})

/** Runs as on a host there. */
function inZone<T>(zone: string, task: () => T): T {
  const before = process.env.TZ
  try {
    process.env.TZ = zone
    return task()
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  }
}

const pad = (number: number): string => String(number).padStart(2, '0')

function localText(seconds: unknown): string {
  if (typeof seconds !== 'number') return 'never'
  const at = new Date(seconds * 1000)
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}`
}

/** The next times of an expression after a local time. In Berlin summer time begins and ends. */
function nextTimes(expression: string, after: string, count = 1, zone = 'Europe/Berlin'): string[] {
  return inZone(zone, () => {
    let now: unknown = Date.parse(after) / 1000
    const times: string[] = []
    for (let index = 0; index < count && typeof now === 'number'; index += 1) {
      now = lua.call('probe', 'next', expression, now)[0]
      times.push(localText(now))
    }
    return times
  })
}

const expected: [expression: string, after: string, times: string[]][] = [
  ['* * * * *', '2026-06-21T15:05:09', ['2026-06-21 15:06', '2026-06-21 15:07']],
  ['30 6 * * *', '2026-06-21T06:30:00', ['2026-06-22 06:30']],
  ['30 6 * * *', '2026-06-21T06:29:59', ['2026-06-21 06:30']],
  ['*/20 8-9 * * *', '2026-06-21T08:30:00', ['2026-06-21 08:40', '2026-06-21 09:00', '2026-06-21 09:20']],
  ['5/25 0 * * *', '2026-06-21T00:00:00', ['2026-06-21 00:05', '2026-06-21 00:30', '2026-06-21 00:55']],
  ['0 9,17 * * *', '2026-06-21T10:00:00', ['2026-06-21 17:00', '2026-06-22 09:00']],
  ['0 8-18/5 * * *', '2026-06-21T09:00:00', ['2026-06-21 13:00', '2026-06-21 18:00', '2026-06-22 08:00']],
  ['0 7 * * mon-fri', '2026-06-19T08:00:00', ['2026-06-22 07:00', '2026-06-23 07:00']],
  ['0 7 * * 7', '2026-06-19T08:00:00', ['2026-06-21 07:00']],
  ['0 7 * * 0', '2026-06-19T08:00:00', ['2026-06-21 07:00']],
  ['0 7 * * SAT,Sun', '2026-06-19T08:00:00', ['2026-06-20 07:00', '2026-06-21 07:00']],
  ['0 0 31 * *', '2026-08-31T00:00:00', ['2026-10-31 00:00', '2026-12-31 00:00']],
  ['0 12 29 2 *', '2026-03-01T00:00:00', ['2028-02-29 12:00', '2032-02-29 12:00']],
  ['0 12 29 feb *', '2096-03-01T00:00:00', ['2104-02-29 12:00']],
  ['0 0 31 2 *', '2026-01-01T00:00:00', ['never']],
  // Both named: either will do.
  ['0 9 1 * mon', '2026-06-30T10:00:00', ['2026-07-01 09:00', '2026-07-06 09:00']],
  // A step from a star leaves the weekday to decide as well.
  ['0 9 */2 * mon', '2026-06-30T10:00:00', ['2026-07-13 09:00', '2026-07-27 09:00']],
  ['@hourly', '2026-06-21T15:05:09', ['2026-06-21 16:00']],
  ['@DAILY', '2026-06-21T15:05:09', ['2026-06-22 00:00']],
  ['@weekly', '2026-06-21T15:05:09', ['2026-06-28 00:00']],
  ['@monthly', '2026-06-21T15:05:09', ['2026-07-01 00:00']],
  ['@yearly', '2026-06-21T15:05:09', ['2027-01-01 00:00']],
  // Summer time begins on 29 March 2026 at 2:00, and ends on 25 October at 3:00.
  ['30 2 * * *', '2026-03-28T12:00:00+01:00', ['2026-03-29 03:00', '2026-03-30 02:30']],
  ['*/30 1-3 * * *', '2026-03-29T01:30:00+01:00', ['2026-03-29 03:00', '2026-03-29 03:30']],
  ['0 12 * * *', '2026-03-28T12:00:00+01:00', ['2026-03-29 12:00', '2026-03-30 12:00']],
  ['30 2 * * *', '2026-10-24T12:00:00+02:00', ['2026-10-25 02:30', '2026-10-26 02:30']],
]

for (const [expression, after, times] of expected) {
  test(`'${expression}' after ${after} is ${times.join(', ')}`, () => {
    const local = /[+-]\d\d:\d\d$/.test(after)
      ? after
      : `${after}${Number(after.slice(5, 7)) % 12 < 3 ? '+01:00' : '+02:00'}`
    assert.deepEqual(nextTimes(expression, local, times.length), times)
  })
}

test('where summer time begins at midnight, or by half an hour, what is left out comes at the change', () => {
  const cairo = nextTimes('@daily', '2026-04-23T12:00:00+02:00', 2, 'Africa/Cairo')
  assert.deepEqual(cairo, ['2026-04-24 01:00', '2026-04-25 00:00'])
  const lordHowe = nextTimes('15 2 * * *', '2026-10-03T12:00:00+10:30', 2, 'Australia/Lord_Howe')
  assert.deepEqual(lordHowe, ['2026-10-04 02:30', '2026-10-05 02:15'])
})

const wrong: [expression: string, problem: RegExp][] = [
  ['* * * *', /has 4 parts/],
  ['* * * * * *', /has 6 parts/],
  ['', /has 0 parts/],
  ['60 * * * *', /minute '60' cannot be read/],
  ['* 24 * * *', /hour '24'/],
  ['* * 0 * *', /day '0'/],
  ['* * * 13 *', /month '13'/],
  ['* * * foo *', /month 'foo'/],
  ['* * * * 8', /weekday '8'/],
  ['*/0 * * * *', /minute '\*\/0'/],
  ['9-5 * * * *', /minute '9-5'/],
  ['1,,2 * * * *', /minute '1,,2'/],
  ['-1 * * * *', /minute '-1'/],
  ['1.5 * * * *', /minute '1.5'/],
  ['@fortnightly', /has 1 parts/],
]

for (const [expression, problem] of wrong) {
  test(`'${expression}' is refused`, () => {
    const [schedule, message] = lua.call('cron', 'parse', expression)
    assert.equal(schedule, undefined)
    assert.match(String(message), problem)
  })
}

function read(given: Json): { rules: [string, string, Json | undefined][]; problems: string[] } {
  const { rows, errors, unread } = starterRows(folder, 'schedules', given)
  assert.deepEqual(errors, [])
  const [rules, problems] = lua.call('rules', 'read', rows) as [
    { name: string; expression: string; message?: Json }[] | object,
    string[] | object,
  ]
  return {
    rules: (Array.isArray(rules) ? rules : []).map(({ name, expression, message }) => [
      name,
      expression,
      message,
    ]),
    problems: [...unread, ...(Array.isArray(problems) ? problems : [])],
  }
}

test('the lines of earlier versions are read as rows, with their messages', () => {
  const text = `
    # comment
    morning: 30 6 * * mon-fri -> heating/set {"mode": "heat"; "x": 1}

    night : @daily
    blank: 0 1 * * *->"living room/lamp" ON
    empty: 0 1 * * * -> topic
  `
  assert.deepEqual(read(text), {
    rules: [
      ['morning', '30 6 * * mon-fri', { topic: 'heating/set', payload: '{"mode": "heat"; "x": 1}' }],
      ['night', '@daily', undefined],
      ['blank', '0 1 * * *', { topic: 'living room/lamp', payload: 'ON' }],
      ['empty', '0 1 * * *', { topic: 'topic', payload: '' }],
    ],
    problems: [],
  })
  assert.deepEqual(
    read('a: @daily; b: @hourly -> t x').rules.map(([name]) => name),
    ['a', 'b'],
  )
  assert.match(read('@daily').problems.join(), /^line 1 \("@daily"\) is left out/)
})

test('what is wrong with a row is said with its number, and the others are read', () => {
  const rows = [
    { name: 'a', when: '@daily' },
    { name: 'two words', when: '@daily' },
    { name: 'a', when: '@hourly' },
    { name: 'b', when: '1 2 3' },
    { name: 'd', when: '@daily', topic: 'x/+' },
    { name: 'e', when: '@daily' },
  ]
  assert.deepEqual(read(rows), {
    rules: [
      ['a', '@daily', undefined],
      ['e', '@daily', undefined],
    ],
    problems: [
      "row 2: the name 'two words' has something else than letters, digits, - and _",
      "row 3: the name 'a' is there twice",
      "row 4: '1 2 3' has 3 parts instead of minute, hour, day, month and weekday",
      "row 5: the topic 'x/+' has a wildcard; nothing can be published there",
    ],
  })
})
