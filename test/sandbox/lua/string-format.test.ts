import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createState, evaluate } from './lua-state.ts'

const cases: [title: string, call: string, expected: string][] = [
  ['%d cuts towards zero', '("%d,%d"):format(3.99, -3.99)', '3,-3'],
  ['%d takes a numeric string', '("%d"):format("12.7")', '12'],
  ['%d works beyond 32 bits', '("%d"):format(1760000000000)', '1760000000000'],
  ['%d does not raise for NaN and infinity', '("%d %d %d"):format(0/0, 1/0, -1/0)', 'nan inf -inf'],
  ['%d keeps sign flags', '("%+d % d"):format(5, 5)', '+5  5'],
  ['%02d fills with zeros', '("%02d:%02d"):format(7, 5.0)', '07:05'],
  ['%-5d fills on the right', '("[%-5d]"):format(42)', '[42   ]'],
  ['%05d puts the sign before the zeros', '("%05d"):format(-42)', '-0042'],
  ['%.3d is digits at least', '("%.3d|%5.3d"):format(7, 7)', '007|  007'],
  ['%i is %d', '("%i"):format(2^40)', '1099511627776'],
  ['%u works beyond 32 bits', '("%u"):format(4294967296)', '4294967296'],
  ['%x and %X work beyond 32 bits', '("%x %X"):format(2^40 + 255, 255.9)', '100000000ff FF'],
  ['%#x and %04x keep flags and width', '("%#x %04x"):format(255, 255)', '0xff 00ff'],
  ['%x of a negative number is its complement', '("%x"):format(-1)', 'ffffffffffffffff'],
  ['%o works', '("%o %#o"):format(8, 8)', '10 010'],
  ['%c takes a number or a numeric string', '("%c%c%c"):format(72, "105", 33.9)', 'Hi!'],
  ['%s takes everything', '("%s %s %s %s"):format("a", 1.0, nil, true)', 'a 1 nil true'],
  ['%s keeps width and precision', '("[%5s][%-5s][%.2s]"):format("ab", "ab", "abc")', '[   ab][ab   ][ab]'],
  ['%s honours __tostring', '("%s"):format(setmetatable({}, {__tostring = function() return "T" end}))', 'T'],
  ['%q quotes', '("%q"):format("a\\n\\"b\\"\\0c\\\\")', '"a\\\n\\"b\\"\\0c\\\\"'],
  [
    '%q writes control characters as numbers, of three digits before a digit',
    '("%q"):format("\\r\\t9\\1270\\127x\\255\\0")',
    '"\\13\\0099\\1270\\127x\ufffd\\0"',
  ],
  ['%q pads a zero byte before a digit', '("%q"):format("\\0001")', '"\\0001"'],
  ['%q writes numbers that can be read back', '("%q %q %q"):format(1, 0.1, 1/0)', '1 0.1 1e9999'],
  ['%f has six digits', '("%f"):format(1.5)', '1.500000'],
  ['%.2f rounds', '("%.2f %.1f %5.1f|"):format(3.14159, 21.25, 2)', '3.14 21.2   2.0|'],
  ['%.0f rounds half to even, as C does', '("%.0f %.0f %.0f"):format(0.5, 1.5, 2.5)', '0 2 2'],
  ['%.2f knows what a double really is', '("%.2f %.2f"):format(1.005, 2.675)', '1.00 2.67'],
  ['%f of a huge number has all digits', '("%.1f"):format(1e22)', '10000000000000000000000.0'],
  ['%f takes infinity and NaN', '("%f %5.1f %F"):format(1/0, 0/0, -1/0)', 'inf   nan -INF'],
  ['%08.3f fills with zeros', '("%08.3f"):format(-3.14159)', '-003.142'],
  [
    '%e has two exponent digits at least',
    '("%e %.1e %E"):format(12345.678, 0, 1e100)',
    '1.234568e+04 0.0e+00 1.000000E+100',
  ],
  ['%g drops zeros', '("%g %g %g %g"):format(100000, 1e6, 0.0001, 0.00001)', '100000 1e+06 0.0001 1e-05'],
  ['%g keeps a precision', '("%.3g %.10g %#.3g"):format(3.14159, 0.1, 2)', '3.14 0.1 2.00'],
  ['%.14g is how numbers print', '("%.14g"):format(2^53)', '9.007199254741e+15'],
  ['%a writes hexadecimal', '("%a %a %.1a %a"):format(1, 0.5, 1.99, 0)', '0x1p+0 0x1p-1 0x2.0p+0 0x0p+0'],
  ['%% is a percent sign', '("100%%"):format()', '100%'],
  ['bytes that are no UTF-8 stay', '#("%s\\255"):format("\\254")', '2'],
  ['string.format is the same function', 'string.format("%d-%s", 1.0, "x")', '1-x'],
]

describe('string.format', () => {
  for (const [title, call, expected] of cases) {
    test(title, () => assert.equal(String(evaluate(`return ${call}`)[0]), expected))
  }

  const refusals: [title: string, call: string, message: RegExp][] = [
    ['a missing argument', '("%d"):format()', /bad argument #1 to 'format' \(no value\)/],
    ['text for %d', '("%d"):format("x")', /number expected, got string/],
    ['nil for %d', 'string.format("%d", nil)', /bad argument #2 to 'format' \(number expected, got nil\)/],
    ['an unknown letter', '("%y"):format(1)', /invalid option '%y' to 'format'/],
    ['a percent sign at the end', '("%"):format(1)', /invalid option '%' to 'format'/],
    ['a width of three digits', '("%100d"):format(1)', /invalid option/],
    ['a table for %q', '("%q"):format({})', /value has no literal form/],
  ]
  for (const [title, call, message] of refusals) {
    test(`${title} is an error with a position`, () => {
      assert.throws(() => evaluate(`return ${call}`), message)
      assert.throws(() => evaluate(`return ${call}`), /^LuaError: init\.lua:1: /)
    })
  }

  test('%d of any integral double is what JavaScript writes', () => {
    const runtime = createState()
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        assert.deepEqual(evaluate(`return ("%d"):format(${value})`, runtime), [String(value)])
      }),
    )
  })

  test('%.17g of any double reads back as the same', () => {
    const runtime = createState()
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        runtime.globals.set('value', value)
        const [text, same] = evaluate(
          'local t = ("%.17g"):format(value) return t, tonumber(t) == value',
          runtime,
        )
        assert.equal(same, true, String(text))
      }),
    )
  })

  test('%.nf of any double is what JavaScript writes, but for ties', () => {
    const runtime = createState()
    fc.assert(
      fc.property(
        fc.double({ min: -1e15, max: 1e15, noNaN: true }),
        fc.integer({ min: 0, max: 20 }),
        (value, digits) => {
          runtime.globals.set('value', value)
          const [text] = evaluate(`return ("%.${digits}f"):format(value)`, runtime)
          const tie = value
            .toFixed(100)
            .slice(value.toFixed(digits).length)
            .match(/^\.?50*$/)
          if (tie === null) {
            const written =
              Object.is(value, -0) || (value < 0 && Number(value.toFixed(digits)) === 0)
                ? `-${Math.abs(value).toFixed(digits)}`
                : value.toFixed(digits)
            assert.equal(text, written)
          }
        },
      ),
    )
  })
})
