import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../../src/base/text/json.ts'
import { fromJson, fromJsonInSteps, toJson } from '../../../src/sandbox/worker/lua/json-values.ts'
import { bytes, createState } from './lua-state.ts'

function plainOf(expression: string): Json | undefined {
  return toJson(createState().run(bytes(`return ${expression}`), 'init.lua')[0])
}

const cases: [title: string, expression: string, expected: Json | undefined][] = [
  ['a table with keys 1 to n is an array', '{1, "two", true}', [1, 'two', true]],
  [
    'the order of insertion does not matter',
    '(function() local t = {} t[2] = "b" t[1] = "a" return t end)()',
    ['a', 'b'],
  ],
  ['a table with a gap is an object', '{[1] = "a", [3] = "c"}', { 1: 'a', 3: 'c' }],
  ['a table with other keys too is an object', '{"a", x = 1.0}', { 1: 'a', x: 1 }],
  ['an empty table is an object', '{}', {}],
  ['functions are left out', '{a = 1, f = print}', { a: 1 }],
  ['a function alone is nothing', 'print', undefined],
  ['a function in an array keeps its place', '{1, print, 3}', [1, null, 3]],
  ['NaN and infinities are left out', '{a = 0/0, b = 1/0, c = 1}', { c: 1 }],
  ['number keys become text', '{[1.5] = 1, [2^40] = 2}', { 1.5: 1, 1099511627776: 2 }],
  ['boolean keys become text', '{[true] = 1}', { true: 1 }],
  ['table keys are left out', '{[{}] = 1, a = 2}', { a: 2 }],
  ['a byte order mark is text like any other', '{["\\u{feff}a"] = "\\u{feff}b"}', { '\ufeffa': '\ufeffb' }],
  ['strings are UTF-8', '"gr\\u{fc}n"', 'grün'],
  ['bytes that are no UTF-8 become the replacement character', '"a\\255"', 'a\ufffd'],
  ['nil is nothing', 'nil', undefined],
  [
    'metatables do not matter',
    'setmetatable({a = 1}, {__index = error, __pairs = error, __len = error})',
    { a: 1 },
  ],
  [
    'one table in two places is no cycle',
    '(function() local t = {1} return {a = t, b = t} end)()',
    { a: [1], b: [1] },
  ],
]

describe('plain values', () => {
  for (const [title, expression, expected] of cases) {
    test(title, () => assert.deepEqual(plainOf(expression), expected))
  }

  test('a cycle is an error', () => {
    assert.throws(() => plainOf('(function() local t = {} t.a = {b = t} return t end)()'), /cycle/)
  })

  test('a table that is nested too deeply is an error, both ways', () => {
    assert.throws(
      () => plainOf('(function() local t = {} for i = 1, 10000 do t = {t} end return t end)()'),
      /nested more than 100 levels/,
    )
    let deep: Json = 1
    for (let level = 0; level < 10_000; level += 1) deep = [deep]
    assert.throws(() => fromJson(createState(), deep), /nested more than 100 levels/)
  })

  test('__proto__ is a key like any other', () => {
    const json = plainOf('{["__proto__"] = {polluted = true}, constructor = 1}')
    assert.deepEqual(JSON.stringify(json), '{"__proto__":{"polluted":true},"constructor":1}')
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
    const runtime = createState()
    runtime.globals.set('t', fromJson(runtime, JSON.parse('{"__proto__": 1, "toString": 2}')))
    assert.deepEqual(runtime.run(bytes('return t.__proto__, t.toString, t.valueOf'), 'x.lua'), [
      1,
      2,
      undefined,
    ])
  })

  test('what was [] stays [] while it is empty', () => {
    const runtime = createState()
    const table = fromJson(runtime, { list: [], map: {} })
    assert.deepEqual(toJson(table), { list: [], map: {} })
    runtime.globals.set('t', table)
    runtime.run(bytes('t.list[1] = "a" t.map.k = 1'), 'x.lua')
    assert.deepEqual(toJson(table), { list: ['a'], map: { k: 1 } })
    runtime.run(bytes('t.list[1] = nil t.map.k = nil'), 'x.lua')
    assert.deepEqual(toJson(table), { list: [], map: {} })
  })

  test('null is an absent key', () => {
    const runtime = createState()
    assert.deepEqual(toJson(fromJson(runtime, { a: null, b: 1 })), { b: 1 })
    assert.equal(fromJson(runtime, null), undefined)
  })

  test('an array with null stays an array, which ends with its last value, in Lua and in JSON', () => {
    const runtime = createState()
    const json = { hours: [null, null, 3, null], rows: [{ a: 1 }, null, { a: 3 }], none: [null] }
    const table = fromJson(runtime, json)
    const same = { hours: [null, null, 3], rows: json.rows, none: [] }
    assert.deepEqual(toJson(table), same)
    runtime.globals.set('t', table)
    assert.deepEqual(runtime.run(bytes('return #t.hours, #t.rows, #t.none'), 'x.lua'), [3, 3, 0])
    runtime.run(bytes('t.hours[1] = 1 t.rows[4] = { a = 4 } t.none.x = 1'), 'x.lua')
    const changed = { hours: [1, null, 3], rows: [{ a: 1 }, null, { a: 3 }, { a: 4 }], none: { x: 1 } }
    assert.deepEqual(toJson(table), changed)
    runtime.run(bytes('table.remove(t.rows, 2) t.hours[3] = nil'), 'x.lua')
    assert.deepEqual(toJson(table), { ...changed, hours: [1], rows: [{ a: 1 }, { a: 3 }, { a: 4 }] })
  })

  test('nulls count as values of a copy', () => {
    const table = fromJson(createState(), [...new Array<Json>(250_000).fill(null), 1])
    assert.throws(() => toJson(table), /more than 250000 values/)
  })

  test('JSON without null goes into Lua and back unchanged', () => {
    const runtime = createState()
    const { value } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string({ unit: 'grapheme' }),
        fc.boolean(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
        fc.maxSafeInteger(),
        fc.array(tie('value'), { maxLength: 5 }),
        // Keys that are whole numbers are text in JSON and in Lua alike.
        fc.dictionary(fc.string({ unit: 'grapheme', minLength: 1 }), tie('value'), {
          maxKeys: 5,
          noNullPrototype: true,
        }),
      ),
    }))
    fc.assert(fc.property(value, (json) => assert.deepEqual(toJson(fromJson(runtime, json)), json)))
  })
})

test('JSON that is turned into tables in steps gives what it gives at one go, with pauses on the way', () => {
  const runtime = createState()
  const equal = (json: Json): number => {
    const steps = fromJsonInSteps(runtime, json)
    let pauses = 0
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) pauses += 1
    assert.deepEqual(toJson(step.value), toJson(fromJson(runtime, json)))
    return pauses
  }
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), (json) => void equal(json as Json)))
  const rows = Array.from({ length: 5_000 }, (_, id) => ({
    id,
    tags: ['a', { b: null }],
    empty: [],
    nested: {},
  }))
  assert.ok(equal(rows) > 50)
  assert.ok(equal({ data: { rows: rows.map(({ id }) => id) } }) > 10)
  assert.deepEqual([equal([]), equal({}), equal('x'), equal(null)], [0, 0, 0, 0])
  let deep: Json = []
  for (let level = 0; level < 200; level += 1) deep = [deep]
  assert.throws(() => equal(deep), /nested more than 100 levels/)
})
