import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { LuaFunction } from '../../../src/sandbox/worker/lua/lua-value.ts'
import { bytes, createState, evaluate, readable } from './lua-state.ts'

describe('tables', () => {
  test('hold what was set last, and are traversed in the order in which keys came', () => {
    const runtime = createState()
    const [run] = runtime.run(
      bytes(`return function(...)
        local t, steps = {}, { ... }
        for i = 1, #steps, 2 do
          local key, value = steps[i], steps[i + 1]
          if value == 0 then value = nil end
          t[key] = value
        end
        local out = {}
        for key, value in pairs(t) do out[#out + 1] = key out[#out + 1] = value end
        return table.unpack(out)
      end`),
      'x.lua',
    ) as [LuaFunction]
    const key = fc.oneof(
      fc.integer({ min: -3, max: 5 }),
      fc.constantFrom(0.5, true, false),
      fc.constantFrom('a', 'b', '1', '', 'length', '__proto__').map(bytes),
    )
    fc.assert(
      fc.property(
        fc.array(fc.tuple(key, fc.integer({ min: 0, max: 2 })), { maxLength: 60, size: 'max' }),
        (steps) => {
          const model = new Map<unknown, unknown>()
          for (const [name, value] of steps) {
            const readableKey = JSON.stringify(readable(name))
            if (value === 0) model.delete(readableKey)
            else model.set(readableKey, value)
          }
          const found = runtime.call(run, ...steps.flat()).map(readable)
          const pairs = found.flatMap((value, index) =>
            index % 2 === 0 ? [[JSON.stringify(value), found[index + 1]]] : [],
          )
          assert.deepEqual(pairs, [...model])
        },
      ),
    )
  })

  test('`pairs` goes through a list from its beginning, however long it is and whatever is beside it', () => {
    assert.deepEqual(
      evaluate(`
        local function order(list)
          local keys = {}
          for key in pairs(list) do keys[#keys + 1] = tostring(key) end
          return table.concat(keys, ' ')
        end
        local function listOf(...) return { ... } end
        local counted, inOrder = 0, true
        for key in pairs({ ${Array.from({ length: 120 }, (_, index) => index).join()} }) do
          counted = counted + 1
          inOrder = inOrder and key == counted
        end
        return order({ 'a', 'b', 'c' }), order({ x = 1, 'a', 'b' }), order(listOf(1, nil, 3, 4)), counted, inOrder`),
      ['1 2 3', 'x 1 2', '1 3 4', 120, true],
    )
  })

  test('a list that is made with holes is as long as it was made, and `unpack` hands on all of it', () => {
    assert.deepEqual(
      evaluate(`
        local function lengths(...) return table.concat({ ... }, ' ') end
        local function handOn(...) local given = { ... } return select('#', unpack(given)) end
        local grown = { nil, nil, 3 }
        for i = 4, 9 do grown[#grown + 1] = i end
        local shrunk = { nil, 2, nil, 4 }
        shrunk[4] = nil
        return lengths(#{ nil, nil, 3 }, #{ 'a', nil, nil, 'd' }, #{ 1, nil, 3, nil, 5 }, #{ n = 1, nil, 2 }),
          lengths(#{ nil, nil }, #{ 1, nil }, #{ 1, 2, 3 }, #{}),
          lengths(handOn(nil, nil, 'error'), handOn('sensor', nil, nil, 'timeout'), handOn()),
          lengths(#grown, grown[9], #shrunk)`),
      ['3 4 5 2', '0 1 3 0', '3 4 0', '9 9 2'],
    )
  })

  test('a traversal goes on past fields that it, or somebody else, removes on its way', () => {
    assert.deepEqual(
      evaluate(`
        local t, seen, object = {}, {}, {}
        for i = 1, 6 do t['k' .. i] = i end
        t[object] = 7
        t.last = 8
        for key, value in pairs(t) do
          seen[#seen + 1] = value
          t[key] = nil
          if value == 2 then t.k3, t.k4 = nil, nil end
          if value == 6 then t[object] = nil end
        end
        return table.concat(seen, ' '), next(t)`),
      ['1 2 5 6 8', null],
    )
  })

  test('nil and NaN are no keys, and a key that is not there ends a traversal with an error', () => {
    assert.deepEqual(
      evaluate(`
        local function try(task, ...) return (select(2, pcall(task, ...))) end
        return try(function() local t = {} t[nil] = 1 end), try(function() local t = {} t[0/0] = 1 end),
          try(next, {}, 'absent'), ({})[nil], ({})[0/0]`),
      [
        'init.lua:3: table index is nil',
        'init.lua:3: table index is NaN',
        "invalid key to 'next'",
        null,
        null,
      ],
    )
  })
})
