import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bytes, createState, evaluate } from './lua-state.ts'

const limit = 100_000
const limited = () => createState({ stringLimitBytes: limit })
const big = 'local big = ("x"):rep(60000) '

const makers: [title: string, source: string][] = [
  ['string.rep', 'return ("x"):rep(100001)'],
  ['string.rep of a huge count', 'return ("x"):rep(1e15)'],
  ['string.rep with a separator', 'return (""):rep(100002, "x")'],
  ['a concatenation', `${big} return big .. big`],
  ['a concatenation in a loop', 'local s = "x" while true do s = s .. s end'],
  ['a long concatenation', `${big} return ${Array(150).fill('big').join(' .. ')}`],
  [
    'a long concatenation in a coroutine',
    `${big} return coroutine.wrap(function() return big .. "-" .. big end)()`,
  ],
  ['table.concat', `${big} return table.concat({big, big})`],
  ['table.concat with a separator', `${big} return table.concat({1, 2, 3}, big)`],
  ['gsub', `${big} return (big:gsub("x", "xxxx"))`],
  ['gsub with a function', `${big} return (("ab"):gsub(".", function() return big end))`],
  ['format', `${big} return ("%s%s"):format(big, big)`],
  ['string.pack', `${big} return string.pack("s4s4", big, big)`],
]

describe('limits', () => {
  for (const [title, source] of makers) {
    test(`a string that ${title} makes too long is a Lua error with the limit in it`, () => {
      assert.throws(() => evaluate(source, limited()), /string too long \(more than 100000 bytes\)/)
      assert.throws(() => evaluate(source, limited()), /init\.lua:1: /)
    })
  }

  test('a string of exactly the limit is allowed', () => {
    assert.deepEqual(evaluate('return #("x"):rep(100000), #(("x"):rep(99999) .. "y")', limited()), [
      limit,
      limit,
    ])
  })

  test('long concatenations below the limit work, numbers in them too', () => {
    assert.deepEqual(evaluate('local a, b = 1, "x" return a .. b .. 2.0 .. b .. a + 1'), ['1x2x2'])
  })

  test('a long concatenation honours __concat', () => {
    assert.deepEqual(
      evaluate(
        'local t = setmetatable({}, {__concat = function(a, b) return "T" end}) return "a" .. t .. "b" .. "c"',
      ),
      ['aT'],
    )
  })

  test('without a setting the limit is 16 MiB', () => {
    assert.deepEqual(evaluate('return #("x"):rep(16 * 1024 * 1024)'), [16 * 1024 * 1024])
    assert.throws(() => evaluate('return ("x"):rep(16 * 1024 * 1024 + 1)'), /more than 16777216 bytes/)
  })

  test('many strings, each within the limit, end in a Lua error, and can be collected then', () => {
    const runtime = createState()
    assert.throws(
      () => evaluate('local t = {} for i = 1, 1000 do t[i] = ("x"):rep(4000000) .. i end', runtime),
      /not enough memory for strings/,
    )
    assert.deepEqual(evaluate('return 1', runtime), [1])
  })

  test('what the host hands over is limited too', () => {
    const runtime = limited()
    assert.throws(() => runtime.globals.set('text', new Uint8Array(limit + 1)), /string too long/)
    runtime.globals.set(
      'give',
      runtime.wrap('give', () => new Uint8Array(limit + 1)),
    )
    assert.throws(() => runtime.run(bytes('return give()'), 'init.lua'), /init\.lua:1: string too long/)
  })

  test('two states have limits of their own', () => {
    const small = createState({ stringLimitBytes: 1000 })
    const large = createState({ stringLimitBytes: 2000 })
    assert.deepEqual(evaluate('return #("x"):rep(1500)', large), [1500])
    assert.throws(() => evaluate('return ("x"):rep(1500)', small), /more than 1000 bytes/)
  })
})
