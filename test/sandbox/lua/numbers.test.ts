import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { LuaFunction } from '../../../src/sandbox/worker/lua/lua-value.ts'
import { bytes, createState, evaluate } from './lua-state.ts'

const cases: [title: string, expression: string, expected: unknown][] = [
  ['an integral double prints without .0', 'tostring(10/2)', '5'],
  ['an integral double is concatenated without .0', '"a" .. 2.0', 'a2'],
  ['table.concat writes an integral double without .0', 'table.concat{2.0}', '2'],
  ['a large integer prints every digit', 'tostring(987654321012)', '987654321012'],
  ['2^53 prints every digit', 'tostring(2^53)', '9007199254740992'],
  [
    'a time in nanoseconds prints every digit',
    'tostring(math.floor(1735570200 * 1000000000))',
    '1735570200000000000',
  ],
  [
    'every digit is that of the value itself',
    'tostring(2^60) .. "," .. -2^62',
    '1152921504606846976,-4611686018427387904',
  ],
  [
    'the last integers of 64 bits print every digit',
    '(2^63 - 1024) .. "," .. -2^63',
    '9223372036854774784,-9223372036854775808',
  ],
  ['from 2^63 on fourteen digits are printed', 'tostring(2^63)', '9.2233720368548e+18'],
  [
    'table.concat, %s, %d and %q write every digit',
    'table.concat{ 2^60, ("%s"):format(2^60), ("%d"):format(2^60), ("%q"):format(2^60) }',
    '1152921504606846976'.repeat(4),
  ],
  ['%q is read as the same number, however large', 'tonumber(("%q"):format(2^70)) == 2^70', true],
  ['a fraction prints with fourteen digits', 'tostring(1/3)', '0.33333333333333'],
  ['a small number prints with an exponent of two digits', 'tostring(1e-7)', '1e-07'],
  ['infinity and NaN print as in C', 'tostring(1/0) .. tostring(-1/0) .. tostring(0/0)', 'inf-infnan'],
  ['negative zero prints as 0', 'tostring(-0.0)', '0'],
  ['os.time() * 1000 does not wrap', 'os.time() * 1000', 1_760_000_000_000],
  ['86400 * 1000 * 30 does not wrap', '86400 * 1000 * 30', 2_592_000_000],
  ['100000 * 100001 does not wrap', '100000 * 100001', 10_000_100_000],
  ['math.floor keeps large numbers', 'math.floor(1.76e12 + 0.5)', 1.76e12],
  ['math.ceil keeps large numbers', 'math.ceil(1.76e12 - 0.5)', 1.76e12],
  ['math.abs keeps large numbers', 'math.abs(-2147483648)', 2_147_483_648],
  ['math.max and math.min keep large numbers', 'math.max(1, 2^40) - math.min(5, 2^41)', 2 ** 40 - 5],
  ['math.tointeger keeps large integers', 'math.tointeger(2^40)', 2 ** 40],
  ['math.tointeger refuses a fraction', 'math.tointeger(2.5)', null],
  ['math.fmod keeps large numbers', 'math.fmod(2^40 + 1, 2^40)', 1],
  ['math.modf splits', 'select("#", math.modf(3.7)) .. ":" .. math.modf(-3.7)', '2:-3'],
  ['math.type tells integral from fractional', 'math.type(2.0) .. math.type(2.5)', 'integerfloat'],
  [
    'beyond 64 bits nothing is an integer',
    'math.type(2^63) .. math.type(-2^63) .. tostring(math.tointeger(2^63))',
    'floatintegernil',
  ],
  ['math.type of another value is nil', 'math.type("1")', null],
  ['math.maxinteger is the largest exact one', 'math.maxinteger', Number.MAX_SAFE_INTEGER],
  ['the product of keys does not wrap', 'next({[70000] = 1}) * next({[80000] = 1})', 5_600_000_000],
  ['the product of lengths does not wrap', '#("x"):rep(70000) * #("x"):rep(80000)', 5_600_000_000],
  ['ipairs counts in doubles', '(function() for i in ipairs{1} do return i * 2^40 end end)()', 2 ** 40],
  ['a numerical for counts beyond 32 bits', '(function() for i = 2^40, 2^41 do return i end end)()', 2 ** 40],
  ['t[1.0] and t[1] are one slot', '({[1.0] = "a"})[1]', 'a'],
  ['t[2^53] is a slot like any other', '({[2^53] = "a"})[9007199254740992]', 'a'],
  ['floor division rounds down', '-7 // 2', -4],
  ['floor division keeps large numbers', '2^40 // 1', 2 ** 40],
  ['modulo has the sign of the divisor', '(-7 % 3) .. (7 % -3)', '2-2'],
  ['modulo keeps large numbers', '(2^40 + 3) % 2^40', 3],
  ['a hexadecimal literal does not wrap', '0xFFFFFFFF', 4_294_967_295],
  ['a hexadecimal literal may have a fraction and an exponent', '0x.8p1', 1],
  ['a bit operation takes integral doubles', '6.0 & 3', 2],
  ['a mask of 32 bits works', '0xFFFFFFFF & 0xF0F0F0F0F', 0xf0f0f0f],
  ['shifting left passes 32 bits', '1 << 40', 2 ** 40],
  ['shifting left by 31 stays positive', '1 << 31', 2 ** 31],
  ['shifting right passes 32 bits', '2^40 >> 8', 2 ** 32],
  ['shifting by a negative number goes the other way', '(1 << -1) .. (1 >> -4)', '016'],
  ['shifting by more than the width gives 0', '(1 << 64) .. (1 >> 64)', '00'],
  ['not is of 64 bits', '~0', -1],
  ['or and exclusive or work', '(0xF0 | 0x0F) .. "," .. (0xFF ~ 0x0F)', '255,240'],
  ['a bit operation takes a numeric string', '"12" & 6', 4],
  ['a bit operation on a variable is the same', '(function(a, b) return a << b end)(3, 33)', 3 * 2 ** 33],
  ['tonumber leaves what is not a number one', 'tostring(tonumber(0/0))', 'nan'],
  ['tonumber reads decimal text', 'tonumber("  12.5e1 ")', 125],
  ['tonumber reads large decimal text', 'tonumber("987654321012")', 987_654_321_012],
  ['tonumber reads hexadecimal text', 'tonumber("0xFFFFFFFF")', 4_294_967_295],
  ['tonumber with a base does not wrap', 'tonumber("FFFFFFFF", 16)', 4_294_967_295],
  ['tonumber with a base reads a sign', 'tonumber(" -zz ", 36)', -1295],
  ['tonumber with a base reads the other sign', 'tonumber("+ff", 16)', 255],
  ['tonumber takes one sign', 'tonumber("+-1", 10)', null],
  ['tonumber refuses a digit beyond the base', 'tonumber("12", 2)', null],
  ['tonumber refuses text', 'tonumber("12a")', null],
  ['tonumber refuses blanks', 'tonumber("  ")', null],
  ['tonumber refuses nan and inf', '(tonumber("nan") or "") .. (tonumber("inf") or "")', ''],
  ['tonumber refuses half an exponent', 'tonumber("1e")', null],
  ['a string in arithmetic is read as a double', '"10" * "100000" * 100000', 1e11],
  ['a loop over strings that are numbers is refused or counts', '#"x" + 2^40', 2 ** 40 + 1],
  ["select('#') is a number like any other", 'select("#", 1, 2) * 2^40', 2 ** 41],
  [
    'string.len, find and byte give doubles',
    '("ab"):len() * 2^40 + ("ab"):find("b") + ("a"):byte()',
    2 ** 41 + 99,
  ],
  ['utf8 functions give doubles', 'utf8.len("äö") * 2^40 + utf8.codepoint("ä")', 2 ** 41 + 228],
  ['an infinite end means the end', '("hello"):sub(2, math.huge)', 'ello'],
  ['a fractional position is cut towards zero', '("hello"):sub(5 / 2, 7 / 2)', 'el'],
  ['comparison passes 32 bits', '2^40 > 2^31 and 1 == 1.0', true],
  ['math.pow and math.log10 are there', 'math.pow(2, 10) + math.log10(1000)', 1027],
  [
    'math.frexp and math.ldexp take apart and put together',
    'select(2, math.frexp(8)) + math.ldexp(math.frexp(8))',
    12,
  ],
  ['math.ldexp takes a fractional exponent for its whole part', 'math.ldexp(1.5, 3.9)', 12],
  ['table.maxn finds the largest key', 'table.maxn{1, 2, [10] = 3, x = 4}', 10],
]

describe('numbers', () => {
  for (const [title, expression, expected] of cases) {
    test(title, () => assert.deepEqual(evaluate(`return ${expression}`)[0], expected))
  }

  test('a bit operation on a fraction is an error', () => {
    assert.throws(() => evaluate('return 1.5 & 1'), /number has no integer representation/)
    assert.throws(() => evaluate('local a = 1.5 return ~a'), /has no integer representation/)
    // Named is the operand that is at fault.
    assert.throws(() => evaluate('local x, mask = 1.5, 1 return x & mask'), /number \(local 'x'\) has no/)
    assert.throws(() => evaluate('local x, mask = 1.5, 1 return mask << x'), /number \(local 'x'\) has no/)
  })

  test('an integral double prints as JavaScript writes it', () => {
    const runtime = createState()
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        assert.equal(runtime.toText(value), String(value))
        assert.deepEqual(evaluate(`return ${value}, tostring(${value}), tonumber("${value}")`, runtime), [
          value,
          String(value),
          value,
        ])
      }),
    )
  })

  test('math.frexp and math.ldexp are exact for every double', () => {
    const runtime = createState()
    const [frexp, ldexp] = runtime.run(bytes('return math.frexp, math.ldexp'), 'init.lua') as [
      LuaFunction,
      LuaFunction,
    ]
    const split = (value: number) => runtime.call(frexp, value) as [number, number]
    const join = (value: number, exponent: number) => runtime.call(ldexp, value, exponent)[0]
    for (const value of [0, -0, Infinity, -Infinity, NaN]) {
      assert.deepEqual(split(value), [value, 0])
      assert.ok(Object.is(join(value, 5000), value))
    }
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => value !== 0)
    fc.assert(
      fc.property(finite, (value) => {
        const [fraction, exponent] = split(value)
        assert.ok(Math.abs(fraction) >= 0.5 && Math.abs(fraction) < 1 && Number.isInteger(exponent))
        assert.equal(join(fraction, exponent), value)
        assert.equal(join(value, 0), value)
        assert.equal(join(join(value, 3000) as number, -3000), value > 0 ? Infinity : -Infinity)
      }),
    )
    // Rounded once, to even, where the digits end; and past both ends of what there is.
    for (const [value, exponent, expected] of [
      [1, -1074, 5e-324],
      [1, -1075, 0],
      [1.5, -1074, 1e-323],
      [1 + 2 ** -52, -1075, 5e-324],
      [1, -1022, 2 ** -1022],
      [5e-324, 2000, 2 ** 926],
      [1, 1023, 2 ** 1023],
      [0.5, 1024, 2 ** 1023],
      [1, 1024, Infinity],
      [-1, 1e300, -Infinity],
      [1, -1e300, 0],
    ] as const)
      assert.equal(join(value, exponent), expected, `${value} ${exponent}`)
  })

  test('a large integral double prints as a decimal that is the double itself', () => {
    const runtime = createState()
    const large = fc.bigInt(2n ** 53n, 2n ** 63n - 1024n).map(Number)
    fc.assert(
      fc.property(large, fc.boolean(), (size, negative) => {
        const value = negative ? -size : size
        const text = BigInt(value).toString()
        assert.deepEqual(evaluate(`return "" .. ${text}, tonumber("${text}")`, runtime), [text, value])
      }),
    )
  })

  test('the bit operations are those of 64-bit integers', () => {
    const runtime = createState()
    const operations: [string, (a: bigint, b: bigint) => bigint][] = [
      ['&', (a, b) => a & b],
      ['|', (a, b) => a | b],
      ['~', (a, b) => a ^ b],
    ]
    fc.assert(
      fc.property(
        fc.maxSafeInteger(),
        fc.maxSafeInteger(),
        fc.constantFrom(...operations),
        (a, b, [sign, law]) => {
          const [result] = evaluate(`local a, b = ${a}, ${b} return a ${sign} b`, runtime)
          assert.equal(result, Number(BigInt.asIntN(64, law(BigInt(a), BigInt(b)))))
        },
      ),
    )
  })

  test('math.random stays within its bounds, also beyond 32 bits', () => {
    const runtime = createState()
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.nat(), fc.integer(), (low, span, seed) => {
        const high = Math.min(low + span, Number.MAX_SAFE_INTEGER)
        const [value] = evaluate(`math.randomseed(${seed}) return math.random(${low}, ${high})`, runtime)
        assert.ok(typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high)
      }),
    )
  })

  test('math.randomseed makes the numbers come again', () => {
    const [first, second] = evaluate(`
      local function draw() math.randomseed(42) return math.random() .. math.random(1000) end
      return draw(), draw()`)
    assert.equal(first, second)
  })

  test('a function may have more constants than an instruction can name', () => {
    const numbers = Array.from({ length: 600 }, (_unused, index) => index + 0.5)
    assert.deepEqual(evaluate(`local t = {${numbers.join(',')}} return #t, t[600]`), [600, 599.5])
  })
})
