import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LuaError, type LuaRuntime } from '../../../src/sandbox/worker/lua/lua-value.ts'
import { bytes, createState, evaluate, readable } from './lua-state.ts'

function failure(source: string, runtime: LuaRuntime = createState()): LuaError {
  try {
    runtime.run(bytes(source), 'init.lua')
  } catch (error) {
    assert.ok(error instanceof LuaError, String(error))
    return error
  }
  throw new Error('nothing was raised')
}

function withHost(): LuaRuntime {
  const runtime = createState()
  runtime.globals.set(
    'boom',
    runtime.wrap('host.boom', () => {
      throw new Error('out of order')
    }),
  )
  runtime.globals.set(
    'throwing',
    runtime.wrap('throwing', () => {
      throw { secret: 'object' }
    }),
  )
  const again = runtime.wrap('again', (callback, ...values) => {
    if (typeof callback !== 'object' || callback instanceof Uint8Array || callback.kind !== 'function')
      return []
    return runtime.call(callback, ...values)
  })
  runtime.globals.set('again', again)
  return runtime
}

describe('errors', () => {
  test('a raised error has message, file, line and a traceback of Lua lines', () => {
    const error = failure(
      'local function inner()\n  error("bad")\nend\nfunction outer()\n  inner()\n  return 1\nend\nouter()',
    )
    assert.deepEqual([error.message, error.file, error.line], ['init.lua:2: bad', 'init.lua', 2])
    assert.deepEqual(error.traceback.split('\n'), [
      "[host]: in function 'error'",
      "init.lua:2: in function 'inner'",
      "init.lua:5: in function 'outer'",
      'init.lua:8: in main chunk',
    ])
  })

  test('a fault of the code names the variable', () => {
    assert.equal(
      failure('local t = {}\nt.a.b = 1').message,
      "init.lua:2: attempt to index a nil value (field 'a')",
    )
    assert.equal(failure('foo()').message, "init.lua:1: attempt to call a nil value (global 'foo')")
    assert.equal(
      failure('return 1 + {}').message,
      'init.lua:1: attempt to perform arithmetic on a table value',
    )
    assert.equal(failure('return #5').message, 'init.lua:1: attempt to get length of a number value')
    assert.equal(failure('return 1 < "2"').message, 'init.lua:1: attempt to compare number with string')
  })

  test('a syntax error has its position', () => {
    const error = failure('x = 1\ny = = 2')
    assert.deepEqual(
      [error.message, error.file, error.line],
      ["init.lua:2: unexpected symbol near '='", 'init.lua', 2],
    )
  })

  const values: [title: string, source: string, message: string][] = [
    ['nil', 'error()', '(error object is a nil value)'],
    ['a table', 'error({code = 1})', '(error object is a table value) {"code":1}'],
    ['an empty table', 'error({})', '(error object is a table value)'],
    ['a large table', 'error({("x"):rep(5000)})', '(error object is a table value)'],
    ['a table in itself', 'local t = {} t.t = t error(t)', '(error object is a table value)'],
    [
      'a table with __tostring',
      'error(setmetatable({}, {__tostring = function() return "mine" end}))',
      'mine',
    ],
    [
      'a table whose __tostring raises',
      'error(setmetatable({}, {__tostring = function() error("x") end}))',
      '(error object is a table value)',
    ],
    [
      'a table whose __tostring gives a table',
      'error(setmetatable({}, {__tostring = function() return {} end}))',
      '(error object is a table value)',
    ],
    ['a number', 'error(42.0)', '42'],
    ['a boolean', 'error(false)', '(error object is a boolean value)'],
    ['a coroutine', 'error(coroutine.create(print))', '(error object is a thread value)'],
    ['a message without position', 'error("plain", 0)', 'plain'],
  ]
  for (const [title, source, message] of values) {
    test(`${title} as error object gives a sensible message`, () => {
      const error = failure(source)
      assert.deepEqual([error.message, error.line], [message, 1])
    })
  }

  test('an exception of JavaScript reaches pcall as a string with its message', () => {
    assert.deepEqual(evaluate('return pcall(boom)', withHost()), [false, 'out of order'])
    assert.deepEqual(evaluate('return pcall(function() boom() end)', withHost()), [
      false,
      'init.lua:1: out of order',
    ])
    assert.deepEqual(evaluate('local ok, e = pcall(throwing) return ok, type(e)', withHost()), [
      false,
      'string',
    ])
    assert.deepEqual(evaluate('return coroutine.resume(coroutine.create(boom))', withHost()), [
      false,
      'out of order',
    ])
    assert.deepEqual(evaluate('return xpcall(boom, function(m) return type(m) .. m end)', withHost()), [
      false,
      'stringout of order',
    ])
  })

  test('a text that only looks like a position is none', () => {
    const error = failure('\nerror("broker:1883: refused", 0)')
    assert.deepEqual([error.message, error.file, error.line], ['broker:1883: refused', 'init.lua', 2])
  })

  test('error(…, 2) blames the caller', () => {
    assert.equal(failure('local function check()\n error("bad use", 2)\nend\ncheck()').line, 4)
  })

  test('a host function shows in the traceback under its name', () => {
    assert.match(
      failure('boom()', withHost()).traceback,
      /^\[host\]: in function 'host\.boom'\ninit\.lua:1: in main chunk$/,
    )
  })

  test('an error that passes through a host function keeps its position', () => {
    assert.equal(failure('again(function()\n error("deep") end)', withHost()).message, 'init.lua:2: deep')
  })

  test('a call of what is no function is a Lua error', () => {
    assert.throws(() => evaluate('return pcall()'), /bad argument #1 to 'pcall' \(value expected\)/)
    assert.deepEqual(evaluate('return pcall(nil)'), [false, 'attempt to call a nil value'])
  })

  test('pcall in a coroutine may yield, and catches afterwards', () => {
    assert.deepEqual(
      evaluate(`
        local co = coroutine.create(function()
          local ok, message = pcall(function() coroutine.yield("first") error("later", 0) end)
          return ok, message
        end)
        local _, first = coroutine.resume(co)
        local _, ok, message = coroutine.resume(co)
        return first, ok, message, coroutine.status(co)`),
      ['first', false, 'later', 'dead'],
    )
  })

  test('an error in a coroutine shows the lines in it, and those that resumed it', () => {
    const error = failure('local step = coroutine.wrap(function()\n  error("inside")\nend)\nstep()')
    assert.deepEqual([error.message, error.line], ['init.lua:2: inside', 2])
    assert.match(
      error.traceback,
      /init\.lua:2: in function .*\n\(in a coroutine\)\n[\s\S]*init\.lua:4: in main chunk/,
    )
  })

  test('a dead coroutine says so, with the position of who resumed it', () => {
    assert.equal(
      failure('local f = coroutine.wrap(function() end) f()\nf()').message,
      'init.lua:2: cannot resume dead coroutine',
    )
  })

  test('yielding across a call from JavaScript is an error', () => {
    const [ok, message] = evaluate(
      'return coroutine.resume(coroutine.create(function() again(coroutine.yield, 1) end))',
      withHost(),
    )
    assert.equal(ok, false)
    assert.match(String(message), /attempt to yield across a JS-call boundary/)
  })

  test('a host function called in a coroutine may call back, with results', () => {
    assert.deepEqual(
      evaluate(
        'return coroutine.wrap(function() return again(function(a, b) return b, a end, 1, "x") end)()',
        withHost(),
      ),
      ['x', 1],
    )
  })

  const recursions: [title: string, source: string][] = [
    ['endless recursion', 'local function f() return f() + 1 end f()'],
    ['endless recursion through pcall', 'local function f() assert(pcall(f)) end f()'],
    [
      'endless recursion through a metamethod',
      'return setmetatable({}, {__index = function(t, k) return t[k] end}).x',
    ],
    [
      'endless recursion through __tostring',
      'local t t = setmetatable({}, {__tostring = function() return tostring(t) end}) tostring(t)',
    ],
    ['endless recursion through coroutines', 'local function f() return coroutine.wrap(f)() end f()'],
    ['endless recursion through gsub', 'local function f() return (("x"):gsub("x", f)) end f()'],
    ['endless recursion through a host function', 'local function f() again(f) end f()'],
    ['endless recursion through sort', 'local function f() table.sort({1, 2, 3}, f) end f()'],
    ['too many results', 'return unpack({}, 1, 1e7)'],
    ['an infinite range', 'return unpack({}, 1, math.huge)'],
    ['deeply nested code', `return ${'('.repeat(10_000)}1${')'.repeat(10_000)}`],
    ['deeply nested tables', `return ${'{'.repeat(10_000)}${'}'.repeat(10_000)}`],
  ]
  for (const [title, source] of recursions) {
    test(`${title} is a Lua error, and the state stays usable`, () => {
      const runtime = withHost()
      const { message } = failure(source, runtime)
      assert.match(message, /overflow|too many|JS levels|invalid argument/)
      assert.deepEqual(evaluate('return pcall(boom)', runtime), [false, 'out of order'])
    })
  }

  test('a failed call leaves nothing behind that would add up', () => {
    const runtime = withHost()
    runtime.run(bytes('function fail(...) error("x") end'), 'init.lua')
    const fail = runtime.globals.get('fail')
    assert.ok(typeof fail === 'object' && 'kind' in fail && fail.kind === 'function')
    for (let count = 0; count < 5000; count += 1) assert.throws(() => runtime.call(fail, 1, 2, 3), LuaError)
    assert.deepEqual(evaluate('return 1', runtime), [1])
  })

  test('what a host function returns wrongly is an error in Lua', () => {
    const runtime = createState()
    const stranger = createState().newTable()
    runtime.globals.set(
      'stranger',
      runtime.wrap('stranger', () => stranger),
    )
    assert.match(
      failure('stranger()', runtime).message,
      /init\.lua:1: no Lua value, or one of another plugin/,
    )
  })

  test('toText never throws', () => {
    const runtime = createState()
    const texts = runtime
      .run(
        bytes(`local function bad() error("x") end
        return nil, true, 2.0, "ä", {}, print, setmetatable({}, {__tostring = bad}),
          setmetatable({}, {__name = "Thing"}), setmetatable({}, {__tostring = function() return "mine" end})`),
        'init.lua',
      )
      .map(runtime.toText)
    assert.deepEqual(
      texts.map((text) => text.replace(/0x[0-9a-f]+/, '0x')),
      ['nil', 'true', '2', 'ä', 'table: 0x', 'function: 0x', 'table', 'Thing: 0x', 'mine'],
    )
  })

  test('an error object that is caught stays what it was', () => {
    const runtime = createState()
    const [ok, kind] = runtime.run(
      bytes('local e = {} local ok, c = pcall(error, e) return ok, c == e'),
      'x.lua',
    )
    assert.deepEqual([ok, readable(kind)], [false, true])
  })
})
