import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { LuaFunction, LuaTable, LuaValue } from '../../../src/sandbox/worker/lua/lua-value.ts'
import { bytes, createState, evaluate, readable } from './lua-state.ts'

function asTable(value: LuaValue): LuaTable {
  assert.ok(typeof value === 'object' && 'kind' in value && value.kind === 'table')
  return value
}

function asFunction(value: LuaValue): LuaFunction {
  assert.ok(typeof value === 'object' && 'kind' in value && value.kind === 'function')
  return value
}

describe('values', () => {
  test('strings are bytes, exact both ways', () => {
    const runtime = createState()
    const echo = asFunction(runtime.run(bytes('return function(s) return s, #s, s .. "" end'), 'x.lua')[0])
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300, size: 'max' }), (text) => {
        assert.deepEqual(runtime.call(echo, text), [text, text.length, text])
      }),
    )
  })

  test('different byte strings are different keys, and compare byte by byte', () => {
    const runtime = createState()
    const law = asFunction(
      runtime.run(
        bytes('return function(a, b) local t = {[a] = 1} return t[b] == 1, a == b, a < b end'),
        'x.lua',
      )[0],
    )
    const small = fc.uint8Array({ maxLength: 4, max: 20 })
    fc.assert(
      fc.property(small, small, (a, b) => {
        const order = Buffer.compare(a, b)
        assert.deepEqual(runtime.call(law, a, b), [order === 0, order === 0, order < 0])
      }),
    )
  })

  test('bytes that were handed over do not change afterwards', () => {
    const runtime = createState()
    const given = Buffer.from('abc')
    runtime.globals.set('text', given)
    given[0] = 0x7a
    const taken = runtime.globals.get('text')
    assert.ok(taken instanceof Uint8Array)
    taken[1] = 0x7a
    assert.deepEqual(evaluate('return text', runtime), ['abc'])
  })

  test('a table is read and written raw, with text and number keys', () => {
    const runtime = createState()
    const table = runtime.newTable()
    runtime.globals.set('t', table)
    evaluate('setmetatable(t, {__index = function() return "meta" end, __newindex = error})', runtime)
    table.set('ключ', 1)
    table.set(1, true)
    table.set(2.5, bytes('half'))
    assert.deepEqual(
      [table.get('ключ'), table.get(1), table.get('absent'), table.length],
      [1, true, undefined, 1],
    )
    assert.deepEqual(evaluate('return t["ключ"], t[1.0], t[2.5], t.absent', runtime), [
      1,
      true,
      'half',
      'meta',
    ])
    table.set('ключ', undefined)
    assert.deepEqual(
      table.entries().map(([key, value]) => [readable(key), readable(value)]),
      [
        [1, true],
        [2.5, 'half'],
      ],
    )
    assert.throws(() => table.set(Number.NaN, 1), /key must not be NaN/)
    assert.equal(table.get(1), true)
  })

  test('a table that is filled late is one with its fields for whoever looks first', () => {
    const looks = {
      'return t.a, t.b': [1, 2],
      'return #t, t.b': [2, 2],
      'return next(t)': ['a', 1],
      'local names = {} for name in pairs(t) do names[#names + 1] = tostring(name) end return table.concat(names, " ")':
        ['a b 1 2'],
      't.b = 5 t.c = 6 return t.a, t.b, t.c': [1, 5, 6],
      't.a = nil return t.a, t.b, next(t)': [null, 2, 'b', 2],
      't[3] = "third" return #t, t[1]': [3, 'first'],
      'return table.unpack(t)': ['first', 'second'],
      'setmetatable(t, {__index = {a = 7, d = 8}}) return t.a, t.d': [1, 8],
      'return select("#", string.format("%s", t)), t.b': [1, 2],
    }
    for (const [look, expected] of Object.entries(looks)) {
      const runtime = createState()
      let filled = 0
      const table = runtime.newTable((given) => {
        filled += 1
        given.set('a', 1)
        given.set('b', 2)
        given.set(1, bytes('first'))
        given.set(2, bytes('second'))
      })
      runtime.globals.set('t', table)
      assert.deepEqual(evaluate('local u = {t} return u[1] == t', runtime), [true])
      assert.equal(filled, 0, 'to keep it is not to look')
      assert.deepEqual(evaluate(look, runtime), expected, look)
      assert.equal(filled, 1, look)
    }
    const fill = (given: LuaTable): void => given.set('a', 1)
    const pairs = (table: LuaTable): unknown[] =>
      table.entries().map(([key, value]) => [readable(key), value])
    assert.deepEqual(pairs(createState().newTable(fill)), [['a', 1]])
    assert.deepEqual(createState().newTable(fill).textEntries(), [['a', 1]])
    assert.equal(createState().newTable(fill).get('a'), 1)
    const written = createState().newTable(fill)
    written.set('b', 2)
    assert.deepEqual(pairs(written), [
      ['a', 1],
      ['b', 2],
    ])
  })

  test('a metamethod that JavaScript sets is seen by Lua', () => {
    const runtime = createState()
    const table = runtime.newTable()
    const meta = runtime.newTable()
    table.metatable = meta
    runtime.globals.set('t', table)
    assert.deepEqual(evaluate('return t.x', runtime), [null])
    meta.set(
      '__index',
      runtime.wrap('index', (_table, key) => [key]),
    )
    assert.deepEqual(evaluate('return t.x', runtime), ['x'])
    assert.equal(table.metatable, meta)
    table.metatable = undefined
    assert.deepEqual(evaluate('return t.x, getmetatable(t)', runtime), [null, null])
  })

  test('tables and functions keep their identity', () => {
    const runtime = createState()
    const [first, second, other] = runtime.run(bytes('local t = {} return t, t, {}'), 'x.lua')
    assert.equal(asTable(first), asTable(second))
    assert.notEqual(asTable(first), asTable(other))
    const host = runtime.wrap('host', () => undefined)
    runtime.globals.set('f', host)
    runtime.globals.set('g', host)
    assert.deepEqual(evaluate('return f == g, f == print', runtime), [true, false])
    assert.equal(host, runtime.globals.get('f'))
    const [shadow] = runtime.run(
      bytes('return setmetatable({}, {__eq = function() return true end})'),
      'x.lua',
    )
    assert.notEqual(asTable(shadow), first)
  })

  test('a host function takes all arguments and gives none, one or more results', () => {
    const runtime = createState()
    const seen: unknown[] = []
    runtime.globals.set(
      'record',
      runtime.wrap('record', (...values) => {
        seen.push(values.map(readable))
        return [1, undefined, bytes('x')]
      }),
    )
    runtime.globals.set(
      'none',
      runtime.wrap('none', () => []),
    )
    runtime.globals.set(
      'nothing',
      runtime.wrap('nothing', () => undefined),
    )
    assert.deepEqual(
      evaluate(
        'return select("#", record(nil, 2, nil)), select("#", none()), select("#", nothing())',
        runtime,
      ),
      [3, 0, 1],
    )
    assert.deepEqual(seen, [[null, 2, null]])
  })

  test('a coroutine is nil for JavaScript', () => {
    const runtime = createState()
    assert.deepEqual(runtime.run(bytes('return coroutine.create(print), 1'), 'x.lua'), [undefined, 1])
  })

  test('a method may be called with many arguments', () => {
    const runtime = createState()
    const many = Array.from({ length: 5000 }, (_unused, index) => index)
    const count = asFunction(
      runtime.run(bytes('return function(...) return select("#", ...), (select(-1, ...)) end'), 'x.lua')[0],
    )
    assert.deepEqual(runtime.call(count, ...many), [5000, 4999])
  })
})
