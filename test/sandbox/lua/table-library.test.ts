import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { evaluate } from './lua-state.ts'

const show = `local function show(t) local out = {} for i = 1, #t do out[i] = tostring(t[i]) end return table.concat(out, " ") end `
const failure = (call: string): unknown => evaluate(`return select(2, pcall(function() ${call} end))`)[0]

/** Hears of each access, and keeps the elements somewhere else. */
const watched = `local kept, heard = {}, {}
  local t = setmetatable({}, {
    __index = function(_, key) heard[#heard + 1] = "get " .. tostring(key) return kept[key] end,
    __newindex = function(_, key, value) heard[#heard + 1] = "set " .. tostring(key) kept[key] = value end,
    __len = function() return #kept end }) `

describe('the table library', () => {
  test('inserts and removes at any place', () => {
    assert.deepEqual(
      evaluate(`${show}
        local t = { "b", "d" }
        table.insert(t, "e") table.insert(t, 1, "a") table.insert(t, 3, "c") table.insert(t, 6, "f")
        local all = show(t)
        local first, last, middle = table.remove(t, 1), table.remove(t), table.remove(t, 2)
        return all, first, last, middle, show(t), table.remove({}), table.remove({}, 0), table.remove(t, 4), #t,
          table.remove({ [0] = "zero" })`),
      ['a b c d e f', 'a', 'f', 'c', 'b d e', null, null, null, 3, 'zero'],
    )
  })

  test('does with lists what a list of JavaScript does', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('insert'), at: fc.nat(8), value: fc.nat(99) }),
      fc.record({ kind: fc.constant('remove'), at: fc.nat(8), value: fc.constant(0) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30, size: 'max' }), (steps) => {
        const model: number[] = []
        const lines = steps.flatMap(({ kind, at, value }) => {
          if (kind === 'insert') {
            model.splice(Math.min(at, model.length), 0, value)
            return [`table.insert(t, ${Math.min(at, model.length - 1) + 1}, ${value})`]
          }
          if (at >= model.length) return []
          model.splice(at, 1)
          return [`table.remove(t, ${at + 1})`]
        })
        const sorted = [...model].sort((a, b) => a - b).join(' ')
        assert.deepEqual(
          evaluate(
            `${show} local t = {} ${lines.join(' ')} local before = show(t) table.sort(t) return before, show(t)`,
          ),
          [model.join(' '), sorted],
        )
      }),
    )
  })

  test('moves within a list and to another one', () => {
    assert.deepEqual(
      evaluate(`${show}
        local t = { 1, 2, 3, 4, 5 }
        return show(table.move(t, 1, 3, 2)), show(table.move({ 1, 2, 3 }, 2, 3, 1)),
          show(table.move({ 1, 2, 3 }, 1, 3, 2, { 9 })), show(table.move({ 1 }, 1, 0, 5))`),
      ['1 1 2 3 5', '2 3 3', '9 1 2 3', '1'],
    )
  })

  test('packs, unpacks and joins', () => {
    assert.deepEqual(
      evaluate(`
        local p = table.pack(nil, "b", nil)
        return p.n, p[2], select("#", table.unpack(p, 1, p.n)), select("#", table.unpack({}, 1, 3)), (table.unpack({ 1, 2 }, 2)),
          select("#", table.unpack({ 1 }, 3)), table.concat({ 1, 2.5, "x" }, ", "), table.concat({ 1, 2, 3 }, "-", 2, 3),
          table.concat({}), table.concat({ 1, 2 }, "", 2), table.maxn({ [3] = 1, x = 2 }), unpack({ "same" })`),
      [3, 'b', 3, 3, 2, 0, '1, 2.5, x', '2-3', '', '2', 3, 'same'],
    )
  })

  test('asks metamethods where a table has them, and only there', () => {
    assert.deepEqual(
      evaluate(`${watched}
        table.insert(t, "a") table.insert(t, 1, "b") table.remove(t, 1)
        local text = table.concat(t, ",")
        return table.concat(heard, ", "), text, table.unpack(t)`),
      ['set 1, get 1, set 2, set 1, get 1, get 2, set 1, set 2, get 1', 'a', 'a'],
    )
    assert.deepEqual(
      evaluate(`${watched} kept = { 3, 1, 2 } table.sort(t) return kept[1], kept[2], kept[3]`),
      [1, 2, 3],
    )
  })

  test('says what is wrong with an argument', () => {
    const failures: Record<string, RegExp> = {
      'table.insert(nil, 1)': /bad argument #1 to 'insert' \(table expected, got nil\)/,
      'table.insert({}, 5, 1)': /bad argument #2 to 'insert' \(position out of bounds\)/,
      'table.insert({}, 0, 1)': /bad argument #2 to 'insert' \(position out of bounds\)/,
      'table.insert({}, "x", 1)': /bad argument #2 to 'insert' \(number expected, got string\)/,
      'table.insert({})': /wrong number of arguments to 'insert'/,
      'table.insert({}, 1, 2, 3)': /wrong number of arguments to 'insert'/,
      'table.remove({ 1, 2 }, 7)': /bad argument #1 to 'remove' \(position out of bounds\)/,
      'table.move({}, 1, 2)': /bad argument #4 to 'move' \(number expected, got no value\)/,
      'table.unpack({}, 1, 1e8)': /too many results to unpack/,
      'table.concat({ 1, {} })': /invalid value \(table\) at index 2 in table for 'concat'/,
      'table.concat({ 1 }, ",", 1, 2)': /invalid value \(nil\) at index 2 in table for 'concat'/,
      'table.sort(setmetatable({}, { __len = function() return 1e9 end }))':
        /bad argument #1 to 'sort' \(array too big\)/,
      'table.concat("x")': /bad argument #1 to 'concat' \(table expected, got string\)/,
    }
    for (const [call, expected] of Object.entries(failures)) assert.match(String(failure(call)), expected)
  })
})
