import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bytes, createState, evaluate } from './lua-state.ts'

const names = (table: string): string =>
  `(function() local t = {} for k in pairs(${table}) do t[#t + 1] = k end table.sort(t) return table.concat(t, " ") end)()`

describe('globals', () => {
  test('exactly the allowed ones are there', () => {
    assert.equal(
      evaluate(`return ${names('_G')}`)[0],
      '_G _VERSION assert coroutine error getmetatable ipairs math next os pairs pcall print rawequal rawlen ' +
        'select setmetatable string table tonumber tostring type unpack utf8 xpcall',
    )
  })

  test('string, table, math, coroutine and utf8 are complete, without string.dump', () => {
    assert.deepEqual(
      evaluate(`return ${['string', 'table', 'math', 'coroutine', 'utf8'].map(names).join(', ')}`),
      [
        'byte char find format gmatch gsub len lower match pack packsize rep reverse sub unpack upper',
        'concat insert maxn move pack remove sort unpack',
        'abs acos asin atan ceil cos deg exp floor fmod frexp huge ldexp log log10 max maxinteger min mininteger modf pi pow rad ' +
          'random randomseed sin sqrt tan tointeger type ult',
        'create isyieldable resume running status wrap yield',
        'char charpattern codepoint codes len offset',
      ],
    )
  })

  test('what reaches out of the plugin is nil', () => {
    const absent = [
      'io',
      'load',
      'loadstring',
      'loadfile',
      'dofile',
      'debug',
      'package',
      'collectgarbage',
      'rawset',
      'rawget',
      'fengari',
      'js',
      'require',
      'os.execute',
      'os.exit',
      'os.getenv',
      'os.remove',
      'os.rename',
      'os.tmpname',
      'os.setlocale',
      'string.dump',
    ]
    for (const name of absent) assert.deepEqual(evaluate(`return ${name}`), [null], name)
  })

  test('_VERSION is that of Lua 5.3', () => assert.deepEqual(evaluate('return _VERSION'), ['Lua 5.3']))

  test('unpack is table.unpack', () => {
    assert.deepEqual(evaluate('return unpack({1, 2, 3}, 2), unpack == table.unpack'), [2, true])
  })

  test('_G belongs to one state, and is the same table as the runtime shows', () => {
    const first = createState()
    const second = createState()
    evaluate('function helper() return 42 end string.shared = 1', first)
    assert.deepEqual(evaluate('return _G.helper()', first), [42])
    assert.deepEqual(evaluate('return helper, string.shared', second), [null, null])
    first.globals.set('given', 7)
    assert.deepEqual(evaluate('return given, _G._G == _G', first), [7, true])
  })

  test('print joins its arguments by tabs, through tostring', () => {
    const lines: string[] = []
    const runtime = createState({ print: (text) => void lines.push(text) })
    evaluate(
      'print("a", 1.0, nil, true, setmetatable({}, {__tostring = function() return "T" end})) print()',
      runtime,
    )
    assert.deepEqual(lines, ['a\t1\tnil\ttrue\tT', ''])
  })

  test('the metatable of strings is out of reach', () => {
    assert.deepEqual(evaluate('return getmetatable(""), ("x"):upper()'), [false, 'X'])
    assert.throws(() => evaluate('setmetatable("", {})'), /table expected/)
    assert.throws(() => evaluate('getmetatable("").__index = nil'), /attempt to index a boolean value/)
  })

  test('the compiler takes text only, never bytecode', () => {
    const runtime = createState()
    assert.throws(() => runtime.run(bytes('\u001bLua'), 'init.lua'), /attempt to load a binary chunk/)
  })

  test('a byte order mark and a first line for a shell are passed over, and lines still count', () => {
    const runtime = createState()
    assert.deepEqual(runtime.run(bytes('\ufeffreturn 1'), 'a.lua'), [1])
    assert.throws(() => runtime.run(bytes('#!/usr/bin/lua\nerror("x")'), 'a.lua'), /a\.lua:2: x/)
  })

  test('goto, integer division and the rest of 5.3 syntax work', () => {
    assert.deepEqual(
      evaluate(
        'local n = 0 ::again:: n = n + 1 if n < 3 then goto again end return n, 7 // 2, "\\u{e4}\\x41\\z  B"',
      ),
      [3, 3, 'äAB'],
    )
  })

  test('a plugin that destroys its own string table hurts only itself', () => {
    const broken = createState()
    evaluate('string.format = nil string.rep = nil for k in pairs(math) do math[k] = nil end', broken)
    assert.equal(broken.toText(5), '5')
    assert.deepEqual(evaluate('return ("%d"):format(1), math.floor(1.5)'), ['1', 1])
  })
})
