import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LuaError, type LuaRuntime } from '../../../src/sandbox/worker/lua/lua-value.ts'
import { bytes, createState, evaluate } from './lua-state.ts'

const message = 'took too long'

/** A state that is interrupted at the third question, and from then on. */
function createLimited(): { runtime: LuaRuntime; again(): void } {
  let questions = 0
  const runtime = createState({ checkInterrupt: () => (++questions > 2 ? message : undefined) })
  runtime.globals.set(
    'protect',
    runtime.wrap('protect', (callback) => {
      try {
        if (typeof callback === 'object' && 'kind' in callback && callback.kind === 'function')
          runtime.call(callback)
      } catch (error) {
        return bytes(String(error))
      }
      return undefined
    }),
  )
  return {
    runtime,
    again() {
      questions = Number.NEGATIVE_INFINITY
    },
  }
}

const loop = 'while true do end'
const long = 'setmetatable({}, { __len = function() return 1e9 end })'
const endless: [title: string, source: string][] = [
  ['an endless loop', loop],
  ['a loop of protected loops', `while true do pcall(function() ${loop} end) end`],
  [
    'protected loops in protected loops',
    `local function f() ${loop} end while true do pcall(pcall, pcall, f) end`,
  ],
  ['a message handler that loops', `xpcall(error, function() ${loop} end) ${loop}`],
  [
    'a message handler for the interrupt',
    `while true do xpcall(function() ${loop} end, function() ${loop} end) end`,
  ],
  ['a coroutine', `coroutine.wrap(function() ${loop} end)()`],
  ['a loop of coroutines', `while true do coroutine.resume(coroutine.create(function() ${loop} end)) end`],
  [
    'a coroutine in a coroutine',
    `local w = coroutine.wrap while true do pcall(w(function() w(function() ${loop} end)() end)) end`,
  ],
  [
    'a coroutine that yields for ever',
    'local f = coroutine.wrap(function() while true do coroutine.yield() end end) while true do f() end',
  ],
  [
    'a protected call in a coroutine after a yield',
    `
    local f = coroutine.wrap(function() pcall(function() coroutine.yield() ${loop} end) ${loop} end) f() pcall(f) ${loop}`,
  ],
  [
    'a metamethod',
    `local t = setmetatable({}, {__index = function() while true do pcall(error) end end}) while true do pcall(function() return t.x end) end`,
  ],
  ['a comparison of sort', `table.sort({3, 2, 1}, function() ${loop} end)`],
  ['a replacement of gsub', `("x"):gsub("x", function() ${loop} end)`],
  ['a __tostring', `tostring(setmetatable({}, {__tostring = function() ${loop} end}))`],
  [
    'a callback of the host, whose error the host swallows',
    `while true do protect(function() ${loop} end) end`,
  ],
  ['one find that goes back and forth', '("a"):rep(40):find(("a?"):rep(40) .. ("a"):rep(41))'],
  ['one match with nested repetitions', '("a"):rep(30000):match(".-.-.-.-b")'],
  ['one gsub over much text', 'while true do ("a"):rep(1000):gsub("a*b", "") end'],
  ['one balanced match after the other', '("("):rep(100000):gsub("%b()", "")'],
  ['a pattern with a long set', '("a"):rep(3000):find("[" .. ("b"):rep(300000) .. "]")'],
  ['a capture that is looked for again and again', '("a"):rep(100000):find("(.*)b%1")'],
  [
    'a long text that is nearly found again and again',
    '("a"):rep(400000):find(("a"):rep(100000) .. "b" .. ("a"):rep(100000), 1, true)',
  ],
  ['a replacement of many signs', '("a"):gsub("a", ("%%"):rep(3000000))'],
  ['a format of many signs', '("%%"):rep(3000000):format()'],
  ['many options of pack', '(" "):rep(3000000):packsize()'],
  ['an insertion into a list that says it is long', `table.insert(${long}, 1, 0)`],
  ['a removal from one', `table.remove(${long}, 1)`],
  [
    'the values of a list behind a chain of tables',
    'local m = {} for i = 1, 1990 do m = setmetatable({}, { __index = m }) end table.unpack(m, 1, 100000)',
  ],
  ['a move within one', `table.move(${long}, 1, 1e7, 2)`],
  ['the text of a long list', 'table.concat(setmetatable({}, { __index = rawlen }), "", 1, 1e9)'],
  [
    'protected patterns',
    'while true do pcall(string.find, ("a"):rep(40), ("a?"):rep(40) .. ("a"):rep(41)) end',
  ],
]

describe('interrupts', () => {
  for (const [title, source] of endless) {
    test(`${title} is stopped with the message, and the state stays usable`, () => {
      const { runtime, again } = createLimited()
      assert.throws(
        () => evaluate(source, runtime),
        (error) => error instanceof LuaError && /^init\.lua:\d+: took too long$/.test(error.message),
      )
      again()
      assert.deepEqual(
        evaluate('local n = 0 for i = 1, 100000 do n = n + 1 end return n, pcall(error, "x")', runtime),
        [100_000, false, 'x'],
      )
    })
  }

  test('a text that takes long to be compiled is not compiled to its end, and the state stays usable', () => {
    const { runtime, again } = createLimited()
    // Each condition looks through all before it.
    const text = bytes(`return x${' and x'.repeat(20_000)}`)
    assert.throws(() => runtime.compile(text, 'init.lua'), /took too long/)
    again()
    assert.deepEqual(evaluate('return 1', runtime), [1])
  })

  const silent: Record<string, [before: string, work: string, questions: number]> = {
    'a plain search in what repeats itself': [
      'local s, text = ("ab"):rep(100000), ("ab"):rep(1000) .. "b"',
      'assert(not s:find(text, 1, true))',
      90,
    ],
    'a plain search for a long text that nearly is there all over': [
      'local s, text = ("a"):rep(100200), ("a"):rep(100000) .. "b"',
      'assert(not s:find(text))',
      190,
    ],
    'a field with a long name': [
      'local k = ("x"):rep(100000) local a, b = k .. 1, k .. 1 local t = { [a] = 1 }',
      'for i = 1, 50 do assert(t[b] == 1) t[b] = 1 end',
      100,
    ],
  }
  for (const [name, [before, work, questions]] of Object.entries(silent)) {
    test(`it is asked whether to go on within ${name}`, () => {
      let asked = 0
      const runtime = createState({ checkInterrupt: () => void (asked += 1) })
      const asksOf = (source: string): number => {
        const soFar = asked
        evaluate(source, runtime)
        return asked - soFar
      }
      const asks = asksOf(`${before} ${work}`) - asksOf(before)
      assert.ok(asks >= questions, `${asks} times`)
    })
  }

  test('the traceback shows where the time went', () => {
    const { runtime } = createLimited()
    assert.throws(
      () => evaluate(`local function busy()\n  ${loop}\nend\npcall(busy)`, runtime),
      (error) =>
        error instanceof LuaError && error.line === 2 && /init\.lua:2: in function/.test(error.traceback),
    )
  })

  test('the next entry is asked afresh', () => {
    let stop = true
    const runtime = createState({ checkInterrupt: () => (stop ? message : undefined) })
    assert.throws(() => evaluate(loop, runtime), /took too long/)
    stop = false
    assert.deepEqual(evaluate('for i = 1, 100000 do end return 1', runtime), [1])
    stop = true
    assert.throws(() => evaluate(loop, runtime), /took too long/)
  })

  test('an inner entry does not end the interrupt of the outer one', () => {
    const { runtime, again } = createLimited()
    runtime.globals.set(
      'forgive',
      runtime.wrap('forgive', () => {
        again()
        return undefined
      }),
    )
    assert.throws(
      () => evaluate(`protect(function() ${loop} end) forgive() return 1`, runtime),
      /took too long/,
    )
  })
})
