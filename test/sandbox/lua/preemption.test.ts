import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callLua } from '../../../src/sandbox/worker/lua/steps.ts'
import { LuaError, type LuaRuntime } from '../../../src/sandbox/worker/lua/lua-value.ts'
import { bytes, createState, readable } from './lua-state.ts'

/** Long enough to be set aside several times, wherever it stands. */
const work = 'local s = 0 for i = 1, 30000 do s = s + i end'

const everything = `__index = function(_, key) ${work} return key end, __len = function() ${work} return 7 end,
  __add = function() ${work} return s end, __concat = function() ${work} return "joined" end,
  __lt = function() ${work} return true end, __le = function() ${work} return false end,
  __eq = function() ${work} return true end, __unm = function() ${work} return "minus" end,
  __call = function(_, ...) ${work} return ... end, __newindex = function(t) ${work} t[0] = nil end`

const programs: Record<string, string> = {
  'a loop': `${work} return s`,
  'calls, with more and fewer values': `local function f(...) ${work} return ... end
    local t = { f(1, 2, 3) } return #t, (f(4, 5)), f()`,
  'a call at the end of a function': `local function f(n) if n == 0 then return "end" end return f(n - 1) end return f(60000)`,
  'a protected call that succeeds': `return pcall(function(a) ${work} return a, s end, "given")`,
  'a protected call that fails, and what comes after it': `local ok, e = pcall(function() ${work} error("no") end) ${work} return ok, e, s`,
  'protected calls within each other': `return pcall(pcall, function() ${work} error({}, 0) end)`,
  'a message handler': `return xpcall(function() ${work} error("no") end, function(m) ${work} return "seen " .. m end)`,
  'metamethods of operators': `local a = setmetatable({}, { ${everything} }) local b = setmetatable({}, getmetatable(a))
    return a.x, #a, a + 1, "x" .. a .. "y", a < b, a <= b, a == b, -a, a(1, 2)`,
  'a metamethod that writes': `local seen local t = setmetatable({}, { __newindex = function(_, k) ${work} seen = k end }) t.field = 1 return seen`,
  'a condition of two metamethods': `local a = setmetatable({}, { __lt = function() ${work} return false end })
    if a < a then return "less" elseif not (a < a) then return "not less" end`,
  'an iterator in Lua': `local sum = 0 for k in (function(_, k) ${work} k = (k or 0) + 1 if k < 4 then return k end end) do sum = sum + k end return sum`,
  'a coroutine': `local co = coroutine.create(function(a) for i = 1, 3 do ${work} a = coroutine.yield(a + i) end return "done" end)
    local list = {} for i = 1, 5 do local ok, v = coroutine.resume(co, i) list[i] = tostring(ok) .. " " .. tostring(v) end
    return table.concat(list, ", "), coroutine.status(co)`,
  'a coroutine as an iterator': `local sum = 0 for v in coroutine.wrap(function() for i = 1, 4 do ${work} coroutine.yield(i) end end) do sum = sum + v end return sum`,
  'coroutines within each other, and an error on its way through them': `local outer = coroutine.wrap(function()
    local inner = coroutine.wrap(function() ${work} coroutine.yield(1) ${work} error("within") end)
    local first = inner() ${work} local ok, e = pcall(inner) ${work} return first, ok, e end) return outer()`,
  'a protected call within a coroutine, after which it can be stopped again': `return coroutine.wrap(function()
    local ok = pcall(error, "x") ${work} return ok, s end)()`,
  'a protected call that a coroutine yields out of': `local co = coroutine.wrap(function() return pcall(function() ${work} coroutine.yield(1) ${work} error("late") end) end)
    return co(), co()`,
  'a comparison function': `local t = {} for i = 1, 300 do t[i] = (i * 7919) % 1009 end
    table.sort(t, function(a, b) local s = 0 for i = 1, 40 do s = s + i end return a > b end) return t[1], t[2], t[150], t[300]`,
  'a long sort without one': `local t = {} for i = 1, 20000 do t[i] = (i * 7919) % 20011 end table.sort(t) ${work} return t[1], t[2], t[20000]`,
  'a comparison function that fails': `return pcall(table.sort, { 3, 1, 2 }, function() ${work} error("cannot compare") end)`,
  'a replacement function': `return (("aXbX"):rep(20):gsub("X", function(c) ${work} return c:lower() end))`,
  'a replacement function that fails': `return pcall(string.gsub, "abc", ".", function() ${work} error("cannot replace") end)`,
  'functions that the host has made': `local a, b = twice(function(x) ${work} return x end, 4) ${work} return a, b, pcall(twice, function() ${work} error("inner") end)`,
}

function state(slices: boolean): LuaRuntime {
  const runtime = createState(slices ? { sliceIsOver: () => true } : {})
  runtime.globals.set(
    'twice',
    runtime.wrap('twice', function* (callee, ...args) {
      if (typeof callee !== 'object' || callee instanceof Uint8Array || callee.kind !== 'function')
        throw new TypeError('not a function')
      const [first] = yield* callLua(callee, ...args)
      const [second] = yield* callLua(callee, ...args)
      return [first, second]
    }),
  )
  return runtime
}

/** How often it was set aside, and what came of it. */
function inSlices(runtime: LuaRuntime, source: string): { slices: number; values: unknown[] } {
  const activation = runtime.activate(runtime.compile(bytes(source), 'init.lua'))
  for (let slices = 1; ; slices += 1) {
    const result = activation.resume()
    if (result.done) return { slices, values: result.values.map(readable) }
    assert.equal(result.suspended, 'slice')
  }
}

for (const [name, source] of Object.entries(programs)) {
  test(`set aside again and again, it gives what it gives at one go: ${name}`, () => {
    const expected = state(false).run(bytes(source), 'init.lua').map(readable)
    const { slices, values } = inSlices(state(true), source)
    assert.deepEqual(values, expected)
    assert.ok(slices > 2, `${slices} slices`)
  })
}

/** One call of the library each, which takes as long as many slices. */
const longSearches: Record<string, string> = {
  'find without a match': `return ("a"):rep(800):find("a-b")`,
  'find with one': `return (("a"):rep(800) .. "cab"):find("(a-)b")`,
  'match without a match': `return ("a"):rep(800):match("(a-)b")`,
  'match with one': `return (("a"):rep(800) .. "xcdb"):match("[ac]-d(b)()")`,
  'gmatch without a match': `return ("a"):rep(800):gmatch("a-b")()`,
  'gmatch with one': `return (("a"):rep(800) .. "cb"):gmatch("(a-)b()")()`,
  'gmatch from an empty match on': `local next = ("b" .. ("a"):rep(100000)):gmatch("b-%f[a]") return next(), next()`,
  'find of a text that is not there': `return ("a"):rep(40000):find(("a"):rep(10000) .. "b", 1, true)`,
  'find of one that is': `return (("a"):rep(40000) .. "b"):find(("a"):rep(10000) .. "b", 2, true)`,
  'gsub without a match': `return ("a"):rep(800):gsub("a-b", "")`,
  'gsub with far matches': `return ((("a"):rep(600) .. "b"):rep(2):gsub("a-b$", "<%0>"))`,
  'gsub with many matches and a text': `return (("ab"):rep(3000):gsub("b", "%0%0"))`,
  'gsub with empty matches': `return ("x"):rep(3000):gsub("", "-")`,
  'gsub with a table': `return (("abc"):rep(1000):gsub("%a", { a = "1", b = "two" }))`,
}

for (const [name, source] of Object.entries(longSearches)) {
  test(`a long search is set aside on its way, and finds what it finds at one go: ${name}`, () => {
    const expected = state(false).run(bytes(source), 'init.lua').map(readable)
    const { slices, values } = inSlices(state(true), source)
    assert.deepEqual(values, expected)
    assert.ok(slices > 10, `${slices} slices`)
  })
}

test('a sort is set aside where it reads the list and where it writes it, too', () => {
  const list = 'local t = {} for i = 1, 10000 do t[i] = 1 end'
  const [built, sorted] = [list, `${list} table.sort(t)`].map(
    (source) => inSlices(state(true), source).slices,
  )
  // 5,000 comparisons on each of 14 levels, 10,000 elements that are read and 10,000 that are written.
  assert.equal(Number(sorted) - Number(built), 14 + 2 + 2)
})

const list = 'local t = {} for i = 1, 40000 do t[i] = i end'
/** A call each, and what comes before it. */
const longWork: Record<string, [before: string, call: string]> = {
  'an insertion': [list, 'table.insert(t, 2, "new") return #t, t[1], t[2], t[3], t[40001]'],
  'a removal': [list, 'return table.remove(t, 2), #t, t[1], t[2], t[39999], t[40000]'],
  'a move': [list, 'table.move(t, 1, 40000, 3) return #t, t[1], t[2], t[3], t[40002]'],
  'a move to another table': [
    list,
    'local o = table.move(t, 1, 40000, 3, {}) return #t, o[2], o[3], o[40002]',
  ],
  'a text': [list, 'local s = table.concat(t, ",") return #s, s:sub(1, 9), s:sub(-9)'],
  'a format': ['', 'local s = ("%%-"):rep(10000):format() return #s, s:sub(-3)'],
  'a pack': ['', 'return #("x"):rep(10000):pack()'],
  'the size of one': ['', 'return ("x"):rep(10000):packsize()'],
  'an unpack': ['', 'return (("x"):rep(9999) .. "b"):unpack(("a"):rep(10000))'],
}

for (const [name, [before, call]] of Object.entries(longWork)) {
  test(`a long call of the library is set aside on its way, and gives what it gives at one go: ${name}`, () => {
    const source = `${before} ${call}`
    const sliced = inSlices(state(true), source)
    assert.deepEqual(sliced.values, state(false).run(bytes(source), 'init.lua').map(readable))
    const within = sliced.slices - inSlices(state(true), before).slices
    assert.ok(within >= 6, `${within} slices within the call`)
  })
}

test('a sort of long texts is set aside after a few comparisons', () => {
  const texts = 'local a = ("x"):rep(1000000) local t = {} for i = 1, 64 do t[i] = a .. i % 10 end'
  const [made, sorted] = [texts, `${texts} table.sort(t)`].map(
    (source) => inSlices(state(true), source).slices,
  )
  // At least 32 comparisons on each of 6 levels, of a megabyte each.
  assert.ok(Number(sorted) - Number(made) > 30, `${sorted} slices, ${made} of them before`)
})

test('an error that ends it has the text and the traceback that it has at one go', () => {
  const source = `local function inner() ${work} error("deep") end
local co = coroutine.wrap(function() ${work} inner() end)
co()`
  const failure = (run: () => unknown): LuaError => {
    try {
      run()
    } catch (error) {
      if (error instanceof LuaError) return error
    }
    throw new Error('it did not fail')
  }
  const expected = failure(() => state(false).run(bytes(source), 'init.lua'))
  const found = failure(() => inSlices(state(true), source))
  assert.deepEqual(
    [found.message, found.traceback, found.file, found.line],
    [expected.message, expected.traceback, expected.file, expected.line],
  )
  assert.match(found.message, /^init\.lua:1: deep/)
})

test('several of them, each in its own state, take turns until all have ended', () => {
  const runtimes = [state(true), state(true), state(true)]
  const activations = runtimes.map((runtime, index) =>
    runtime.activate(
      runtime.compile(bytes(`for i = 1, ${30_000 * (index + 1)} do end return ${index}`), 'init.lua'),
    ),
  )
  const ended: unknown[] = []
  const left = new Set(activations)
  while (left.size > 0) {
    for (const activation of left) {
      const result = activation.resume()
      if (!result.done) continue
      left.delete(activation)
      ended.push(...result.values.map(readable))
    }
  }
  assert.deepEqual(ended, [0, 1, 2])
})

test('what is set aside can be stopped, past every protected call', () => {
  let stop = false
  const runtime = createState({
    sliceIsOver: () => true,
    checkInterrupt: () => (stop ? 'stopped' : undefined),
  })
  const source =
    'while true do pcall(function() while true do pcall(coroutine.wrap(function() while true do end end)) end end) end'
  const activation = runtime.activate(runtime.compile(bytes(source), 'init.lua'))
  for (let slice = 0; slice < 5; slice += 1) assert.equal(activation.resume().done, false)
  stop = true
  assert.throws(activation.resume, /stopped/)
  stop = false
  assert.deepEqual(runtime.run(bytes('return 1'), 'after.lua'), [1])
})

test('a thread on which the host enters Lua is no coroutine', () => {
  const source = `local thread, main = coroutine.running()
    local ok, e = pcall(coroutine.yield, 1)
    return type(thread), main, coroutine.isyieldable(), ok, e, coroutine.wrap(function()
      return select(2, coroutine.running()), coroutine.isyieldable() end)()`
  const expected = ['thread', true, false, false, 'attempt to yield from outside a coroutine', false, true]
  assert.deepEqual(inSlices(state(true), source).values, expected)
  assert.deepEqual(state(false).run(bytes(source), 'init.lua').map(readable), expected)
})

test('what cannot be set aside goes on, and is set aside after it', () => {
  const source = `local text = tostring(setmetatable({}, { __tostring = function() ${work} return "text" end })) ${work} return text`
  const { slices, values } = inSlices(state(true), source)
  assert.deepEqual(values, ['text'])
  assert.ok(slices > 2)
})

test('calls of functions that take long are counted by their time, not as one instruction each', () => {
  let now = 0
  let begun = 0
  const runtime = createState({ monotonic: () => now, sliceIsOver: () => now - begun >= 4 })
  runtime.globals.set(
    'work',
    runtime.wrap('work', (milliseconds) => {
      now += milliseconds as number
      return []
    }),
  )
  const loops = {
    'calls, one after the other': 'for i = 1, 1000 do work(2) end',
    'calls that fail': 'for i = 1, 1000 do pcall(function() work(2) error("no") end) end',
    metamethods:
      'local t = setmetatable({}, { __index = function() work(2) end }) for i = 1, 1000 do local x = t[i] end',
    iterators: 'for i in function(_, i) work(2) return i < 1000 and i + 1 or nil end, nil, 0 do end',
  }
  for (const [name, loop] of Object.entries(loops)) {
    const { resume } = runtime.activate(runtime.compile(bytes(loop), 'init.lua'))
    const slices: number[] = []
    for (let done = false; !done; slices.push(now - begun)) {
      begun = now
      done = resume().done
    }
    // A few calls are made before it is known that they are long.
    assert.ok(Math.max(...slices) <= 40, `${name}: ${Math.max(...slices)} ms`)
    assert.ok(Math.max(...slices.slice(1)) <= 6, `${name}: ${Math.max(...slices.slice(1))} ms`)
  }
})
