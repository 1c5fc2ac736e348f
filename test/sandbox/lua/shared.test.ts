import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LuaFunction, LuaTable } from '../../../src/sandbox/worker/lua/lua-value.ts'
import { bytes, createState, evaluate } from './lua-state.ts'

const libraries = ['_G', 'coroutine', 'math', 'os', 'string', 'table', 'utf8']

describe('what the Lua states of a worker have in common', () => {
  test('whatever one does to its libraries and their metatables, no other one sees', () => {
    const before = evaluate(`return _VERSION, math.pi, type(string.format), ('x'):rep(2)`)
    const vandal = createState()
    evaluate(
      `for _, name in ipairs{ '${libraries.join("', '")}' } do
         local library = _G[name]
         for key in pairs(library) do
           if library ~= _G then library[key] = function() return 'mine' end end
         end
         library.mine = true
         setmetatable(library, { __index = function() return 'mine' end })
       end
       _VERSION = 'mine'`,
      vandal,
    )
    assert.deepEqual(evaluate('return math.pi(), ("x"):rep(), utf8.none, _VERSION', vandal), [
      ...['mine', 'mine', 'mine', 'mine'],
    ])
    assert.deepEqual(evaluate(`return _VERSION, math.pi, type(string.format), ('x'):rep(2)`), before)
    assert.deepEqual(
      evaluate(
        `local seen = {}
         for _, name in ipairs{ '${libraries.join("', '")}' } do
           seen[#seen + 1] = tostring(getmetatable(_G[name])) .. tostring(_G[name].mine)
         end
         return table.concat(seen, ' ')`,
      ),
      [libraries.map(() => 'nilnil').join(' ')],
    )
  })

  test('a function that is provided is made when it is used first, in each state by itself', () => {
    const made: string[] = []
    const provided = (name: string) => {
      const runtime = createState()
      const table = runtime.newTable()
      const make = (): LuaFunction => {
        made.push(name)
        return runtime.wrap('test:provided', (...values) => [bytes(name), ...values])
      }
      runtime.provideLibrary('test', { provided: 'test:provided' }, make, table)
      runtime.globals.set('host', table)
      return { runtime, table }
    }
    const one = provided('one')
    const other = provided('other')
    assert.deepEqual(evaluate('return type(host.provided)', one.runtime), ['function'])
    assert.deepEqual(made, [])
    assert.deepEqual(evaluate('return host.provided(1, "a")', other.runtime), ['other', 1, 'a'])
    assert.deepEqual(evaluate('return host.provided()', one.runtime), ['one'])
    assert.deepEqual(evaluate('return host.provided()', one.runtime), ['one'])
    assert.deepEqual(made, ['other', 'one'])
  })

  test('a provided function is one function for Lua and for the host, whoever uses it first', () => {
    const runtime = createState()
    const table: LuaTable = runtime.newTable()
    let made: LuaFunction | undefined
    const make = (): LuaFunction => (made = runtime.wrap('test:identity', (value) => value === made))
    runtime.provideLibrary('identity', { provided: 'test:identity' }, make, table)
    runtime.globals.set('host', table)
    const seen = table.get('provided')
    assert.equal(seen, made)
    assert.deepEqual(evaluate('kept = host.provided return host.provided(kept)', runtime), [true])
    runtime.globals.set('given', seen)
    assert.deepEqual(evaluate('return given == kept, given == host.provided', runtime), [true, true])
  })

  test('an error in a provided function names it in the traceback', () => {
    const runtime = createState()
    const make = (): LuaFunction =>
      runtime.wrap('host:fail', () => {
        throw new Error('no')
      })
    runtime.provideLibrary('failing', { fail: 'host:fail' }, make, runtime.globals)
    assert.throws(
      () => evaluate('local function f() fail() end\nf()', runtime),
      ({ message, traceback }: { message: string; traceback: string }) =>
        message === 'init.lua:1: no' && traceback.startsWith("[host]: in function 'host:fail'"),
    )
  })

  test('a table of the host that is the same in two states is changed in one of them only', () => {
    const settled = (limit?: number) => {
      const runtime = createState()
      const functions = { first: 'settled:first', second: 'settled:second' }
      const [library, fields] =
        limit === undefined ? ['settled', functions] : ['odd', { ...functions, limit }]
      const table = runtime.provideLibrary(library, fields, (name) =>
        runtime.wrap(`settled:${name}`, () => 'x' > name),
      )
      runtime.globals.set('host', table)
      return runtime
    }
    const [one, other, third, odd] = [settled(), settled(), settled(), settled(7)]
    const fields = `local names = {} for name, value in pairs(host) do
      names[#names + 1] = name .. ' ' .. (type(value) == 'number' and value or type(value)) end
      return table.concat(names, ', ')`
    evaluate('host.first = nil host.mine = 1', one)
    evaluate('host.second = 2', other)
    evaluate('for name in pairs(host) do host[name] = nil end', odd)
    assert.deepEqual(evaluate(fields, one), ['second function, mine 1'])
    assert.deepEqual(evaluate(fields, other), ['first function, second 2'])
    assert.deepEqual(evaluate(fields, third), ['first function, second function'])
    assert.deepEqual(evaluate(fields, odd), [''])
    assert.deepEqual(evaluate(fields, settled(7)), ['first function, second function, limit 7'])
    assert.deepEqual(evaluate(fields, settled()), ['first function, second function'])
  })
})
