import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createState, evaluate } from './lua-state.ts'

const cases: [title: string, call: string, expected: unknown[]][] = [
  ['integers of 32 bits do not wrap', 'string.unpack("<I4", "\\255\\255\\255\\255")', [4_294_967_295, 5]],
  ['signed integers are signed', 'string.unpack(">i2 >I2", "\\255\\254\\255\\254")', [-2, 65_534, 5]],
  ['big endian floats are read', 'string.unpack(">f", "\\x3f\\x80\\0\\0")', [1, 5]],
  ['doubles come back', 'string.unpack("<d", string.pack("<d", 0.1))', [0.1, 9]],
  ['counted strings come back', 'string.unpack("s1", string.pack("s1", "hello"))', ['hello', 7]],
  ['terminated strings come back', 'string.unpack("zz", "ab\\0c\\0")', ['ab', 'c', 6]],
  ['fixed strings are filled', '#string.pack("c5", "ab")', [5]],
  ['alignment pads', 'string.packsize("!4 b i4")', [8]],
  ['without a mark there is no alignment', 'string.packsize("b i4 x")', [6]],
  ['reading starts where it is told', 'string.unpack("B", "abc", -1)', [99, 4]],
]

describe('string.pack', () => {
  for (const [title, call, expected] of cases) {
    test(title, () => assert.deepEqual(evaluate(`return ${call}`), expected))
  }

  test('what does not fit is an error', () => {
    assert.throws(() => evaluate('return string.pack("I1", 256)'), /does not fit/)
    assert.throws(() => evaluate('return string.pack("i8", 2^63)'), /does not fit/)
    assert.throws(() => evaluate('return string.pack("I8", 0/0)'), /does not fit/)
    assert.throws(() => evaluate('return string.unpack("I4", "abc")'), /data string too short/)
    for (const start of [0, -4, 5])
      assert.throws(
        () => evaluate(`return string.unpack("B", "abc", ${start})`),
        /initial position out of string/,
      )
    assert.throws(() => evaluate('return string.pack("c999999999", "")'), /too long|not enough memory/)
    assert.throws(() => evaluate('return string.pack("y", 1)'), /invalid format option 'y'/)
  })

  test('an integer of eight bytes is not cut at 2^53', () => {
    const nanoseconds = 1_735_570_200_123_456_768
    assert.deepEqual(
      evaluate(`
        local function back(format, value) return (string.unpack(format, string.pack(format, value))) end
        return back("<i8", ${nanoseconds}), back(">I8", 2^63), back("<i8", -2^63), back("<j", 2^53),
          string.pack(">I8", -1) == ("\\255"):rep(8)`),
      [nanoseconds, 2 ** 63, -(2 ** 63), 2 ** 53, true],
    )
  })

  test('an integer of six bytes comes back in both orders', () => {
    const runtime = createState()
    fc.assert(
      fc.property(
        fc.integer({ min: -(2 ** 47), max: 2 ** 47 - 1 }),
        fc.constantFrom('<', '>'),
        (value, order) => {
          const format = `${order}i6`
          assert.deepEqual(
            evaluate(`return string.unpack("${format}", string.pack("${format}", ${value}))`, runtime),
            [value, 7],
          )
        },
      ),
    )
  })
})
