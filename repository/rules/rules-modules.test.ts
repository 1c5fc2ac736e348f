import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/text/json.ts'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'

/** Values and events at their time, for one rule; a clock of its own. Answers when it is set off, and by what. */
const stage = `
local moments = require("moments")
local limit = require("limit")
local stage = {}
function stage.play(rule, steps)
  local now, timers, last, found = 0, {}, 0, {}
  local occurrences = moments.new(rule, {
    after = function(milliseconds, run)
      last = last + 1
      timers[last] = { due = now + milliseconds / 1000, run = run }
      return last
    end,
    cancel = function(id) if id then timers[id] = nil end end,
  }, function(facts)
    found[#found + 1] = now .. ":" .. tostring(facts.value) .. "<" .. tostring(facts.previous)
  end)
  for _, step in ipairs(steps) do
    for time = now, step.at do
      now = time
      for id, timer in pairs(timers) do
        if timer.due <= now then timers[id] = nil timer.run() end
      end
    end
    if step.event then
      occurrences.event(step.value, { value = step.value })
    else
      occurrences.value(step.name or "it", step.value, { value = step.value })
    end
  end
  return table.concat(found, " ")
end
function stage.take(rule, times)
  local now, answers = 0, {}
  local each = limit.new(rule, function() return now end)
  for index, time in ipairs(times) do
    now = time
    local may, reason = each.take()
    answers[index] = may or reason
  end
  return answers
end
return stage
`

const folder = fileURLToPath(new URL('.', import.meta.url))
const lua = openLuaModules(folder, { stage: new TextEncoder().encode(stage) })
const actions = [{ do: 'publish', topic: 'a/b' }]

const comparisons: [value: Json | undefined, is: string, wanted: string, holds: boolean][] = [
  [21.5, 'equal', '21.50', true],
  ['21.5', 'equal', '21.50', true],
  ['open', 'equal', 'open', true],
  ['Open', 'equal', 'open', false],
  [true, 'equal', 'ON', true],
  [false, 'equal', 'off', true],
  [false, 'equal', 'true', false],
  [16, 'equal', '0x10', false],
  [false, 'not equal', 'on', true],
  [true, 'not equal', 'on', false],
  [['a'], 'equal', 'a', false],
  [25.1, 'above', '25', true],
  [25, 'above', '25', false],
  [' 26 ', 'above', '25', true],
  ['warm', 'above', '25', false],
  [true, 'above', '0', false],
  [-3, 'below', '-2.5', true],
  ['rain later', 'contains', 'rain', true],
  ['100 %', 'contains', '%', true],
  [['rain', 5], 'contains', '5', true],
  [['rain'], 'contains', 'ra', false],
  [undefined, 'equal', '', false],
  [undefined, 'not equal', 'on', false],
]

for (const [value, is, wanted, holds] of comparisons) {
  test(`${JSON.stringify(value) ?? 'nothing'} is ${holds ? '' : 'not '}${is} "${wanted}"`, () => {
    assert.deepEqual(lua.call('compare', 'holds', is, value, wanted), [holds])
  })
}

test('a control is set to a value of the type that it holds', () => {
  const like = (present: Json | undefined, text: string): unknown =>
    lua.call('compare', 'like', present, text)[0]
  assert.deepEqual(
    [like(true, 'off'), like(5, '7.5'), like('auto', '5'), like(undefined, '5'), like(undefined, 'true')],
    [false, 7.5, '5', 5, true],
  )
  assert.deepEqual([like(true, 'dim'), like(5, 'bright')], [undefined, undefined])
})

type Step = Record<string, Json>
const at = (time: number, value?: Json): Step => ({ at: time, ...(value === undefined ? {} : { value }) })

const plays: [title: string, row: Record<string, Json>, steps: Step[], found: string][] = [
  [
    'it is set off when a comparison begins to hold, and again after it did not',
    { is: 'above', value: '24' },
    [at(0, 20), at(1, 25), at(2, 26), at(3, 24), at(4, 25)],
    '1:25<20 4:25<24',
  ],
  ['what holds at the start has not begun', { is: 'above', value: '24' }, [at(0, 25), at(1, 26)], ''],
  [
    'what is gone and back again has not begun anew',
    { is: 'equal', value: 'on' },
    [at(0, false), at(1, true), at(2), at(3, true), at(4), at(5, false), at(6, true)],
    '1:true<false 6:true<false',
  ],
  [
    'each other value is a change, the first is none',
    {},
    [at(0, 1), at(1, 1), at(2, 2), at(3), at(4, 2)],
    '2:2<1',
  ],
  ['equal tables are no change', {}, [at(0, { a: [1] }), at(1, { a: [1] })], ''],
  [
    'it is set off once when it has held for long enough, with the value of then',
    { is: 'above', value: '24', for: 10 },
    [at(0, 25), at(5, 20), at(6, 25), at(8, 27), at(30, 28), at(40, 20)],
    '16:27<25',
  ],
  [
    'being gone begins the time anew',
    { is: 'equal', value: 'open', for: 10 },
    [at(0, 'open'), at(8), at(9, 'open'), at(30, 'open')],
    '19:open<nil',
  ],
  ['a change has to stay', { for: 10 }, [at(0, 1), at(5, 2), at(10, 3), at(40, 3)], '20:3<2'],
  [
    'each that * stands for counts by itself, and one that comes back is new',
    { sensor: '@house/doors/*', is: 'equal', value: 'open' },
    [
      { at: 0, name: 'a', value: 'shut' },
      { at: 0, name: 'b', value: 'shut' },
      { at: 1, name: 'a', value: 'open' },
      { at: 2, name: 'b', value: 'open' },
      { at: 3, name: 'a' },
      { at: 4, name: 'a', value: 'open' },
    ],
    '1:open<shut 2:open<shut',
  ],
  [
    'each event for which it holds sets it off',
    { when: 'event', event: 'door:*', is: 'equal', value: 'front', for: 10 },
    [
      { at: 0, event: true, value: 'front' },
      { at: 1, event: true, value: 'back' },
      { at: 2, event: true, value: 'front' },
    ],
    '0:front<nil 2:front<nil',
  ],
]

for (const [title, row, steps, found] of plays) {
  test(title, () => {
    const [rule] = lua.call('rules', 'readRow', { name: 'r', sensor: '@house/x/y', actions, ...row })
    assert.deepEqual(lua.call('stage', 'play', rule as Json, steps), [found])
  })
}

test('it does not run within its pause, nor more often in a minute than it may', () => {
  assert.deepEqual(lua.call('stage', 'take', { pause: 10, perMinute: 60 }, [0, 9.9, 10, 15, 20]), [
    [true, 'pause', true, 'pause', true],
  ])
  assert.deepEqual(lua.call('stage', 'take', { pause: 0, perMinute: 2 }, [0, 1, 2, 60, 60.5, 61]), [
    [true, true, 'perMinute', true, 'perMinute', true],
  ])
})

const sensor = { name: 'r', sensor: '@house/x/y', actions }
const condition = { of: 'sensor', sensor: '@house/x/y' }
const wrongRows: [row: Json, message: RegExp][] = [
  [{ ...sensor, sensor: 'x/y' }, /^'x\/y' names no sensor of a plugin: expected one such as @house/],
  [{ ...sensor, sensor: '@house/*/y' }, /names no sensor of a plugin/],
  [{ ...sensor, sensor: '' }, /^the sensor is missing$/],
  [{ ...sensor, when: 'object', object: 'plugins.house.**' }, /names no object of a plugin/],
  [{ ...sensor, when: 'object', object: 'plugins.house.x.y', path: 'a[' }, /cannot read the path/],
  [{ ...sensor, when: 'moon' }, /^'moon' is nothing that can be watched$/],
  [{ ...sensor, is: 'above', value: 'warm' }, /^above needs a number, not 'warm'$/],
  [{ ...sensor, is: 'contains' }, /^contains needs a value$/],
  [{ ...sensor, is: 'like' }, /^'like' is no comparison$/],
  [
    { ...sensor, conditions: [condition, { ...condition, sensor: '@house/x/*' }] },
    /^condition 2: .* without \*$/,
  ],
  [{ ...sensor, actions: [] }, /^there is no action$/],
  [{ ...sensor, actions: [...actions, { do: 'publish' }] }, /^action 2: the topic is missing$/],
  [{ ...sensor, actions: [{ do: 'publish', topic: 'a/#' }] }, /has a wildcard/],
  [
    { ...sensor, actions: [{ do: 'publish', topic: 'a', payload: '{{ value | wash }}' }] },
    /^action 1: .*wash/,
  ],
  [{ ...sensor, actions: [{ do: 'control', control: 'level', to: '5' }] }, /names no control/],
  [{ ...sensor, actions: [{ do: 'dance' }] }, /nothing that can be done/],
  [
    { ...sensor, when: 'event', event: 'a:*', actions: [{ do: 'event', event: 'a:b' }] },
    /^action 1: the event 'a:b' would set off the rule itself$/,
  ],
  [
    { ...sensor, when: 'topic', topic: 'a/+/#', actions: [{ do: 'publish', topic: 'a/b/c' }] },
    /^action 1: the topic 'a\/b\/c' would set off the rule itself$/,
  ],
  [{ ...sensor, when: 'topic', actions }, /^the topic is missing$/],
]

for (const [row, message] of wrongRows) {
  test(`a wrong row is refused with its reason: ${message}`, () => {
    const [rule, problem] = lua.call('rules', 'readRow', row)
    assert.equal(rule, undefined)
    assert.match(String(problem), message)
  })
}

test('a plugin that cannot be asked is told of with the host on which it would have to be', () => {
  const absence = (host?: string): unknown => lua.call('rules', 'absence', '@house/fan', host ?? null)[0]
  assert.equal(absence(), '@house/fan is not running')
  assert.equal(absence('cellar'), '@house/fan is not running on cellar, the host of this plugin')
})
