import fc from 'fast-check'

/** What programs in Lua are made of at random, where the library or the interpreter reads it. */

const quoted = (text: string): string => `"${text.replaceAll('"', '').replaceAll('\\', '')}"`

export const literal = fc.constantFrom(
  '0',
  '1',
  '2',
  '3',
  '-1',
  '7',
  '10',
  '255',
  '1.5',
  '-0.5',
  '0.25',
  '4096',
)
export const word = fc
  .string({ unit: fc.constantFrom('a', 'b', 'c', '1', ' ', '.', '-', '(', '%'), maxLength: 9 })
  .map(quoted)

const patternItem = fc
  .tuple(
    fc.constantFrom(
      'a',
      '.',
      '%a',
      '%d',
      '%s',
      '%W',
      '%p',
      '[ab]',
      '[^a]',
      '[a-c1]',
      '[%a.]',
      '%.',
      '%%',
      '%b()',
      '%f[%a]',
    ),
    fc.constantFrom('', '', '*', '+', '-', '?'),
  )
  .map(([item, count]) => (item.startsWith('%b') || item.startsWith('%f') ? item : item + count))
const patternPart = fc.oneof(
  { weight: 3, arbitrary: patternItem },
  fc.array(patternItem, { maxLength: 2 }).map((items) => `(${items.join('')})`),
)
export const pattern = fc
  .tuple(
    fc.constantFrom('', '', '^'),
    fc.array(patternPart, { minLength: 1, maxLength: 4 }),
    fc.constantFrom('', '', '$'),
  )
  .map(([start, parts, end]) => `"${start}${parts.join('')}${end}"`)

export const conversion = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('', '-', '0', '+', ' '),
      fc.constantFrom('', '3', '9'),
      fc.constantFrom('', '.0', '.4'),
      fc.constantFrom('d', 'i'),
      fc.integer({ min: -70000, max: 70000 }),
    )
    .map(([flag, width, precision, kind, value]) => ({
      format: `%${flag}${width}${precision}${kind}`,
      value: `${value}`,
    })),
  fc
    .tuple(
      fc.constantFrom('', '-', '0'),
      fc.constantFrom('', '6'),
      fc.constantFrom('x', 'X', 'o'),
      fc.nat(99999),
    )
    .map(([flag, width, kind, value]) => ({ format: `%${flag}${width}${kind}`, value: `${value}` })),
  fc
    .tuple(
      fc.constantFrom('', '-', '0', '+', ' '),
      fc.constantFrom('', '12'),
      fc.constantFrom('', '.0', '.3', '.10'),
      fc.constantFrom('f', 'e', 'g', 'G', 'E', 'a'),
      fc.constantFrom(
        '0',
        '1',
        '-1.5',
        '0.1',
        '1/3',
        '1e300',
        '-1e-5',
        '123456789',
        '5e-324',
        '2^53',
        '99999.5',
        '2.5',
      ),
    )
    .map(([flag, width, precision, kind, value]) => ({
      format: `%${flag}${width}${precision}${kind}`,
      value,
    })),
  fc
    .tuple(fc.constantFrom('', '-'), fc.constantFrom('', '8'), fc.constantFrom('', '.2'), word)
    .map(([flag, width, precision, value]) => ({ format: `%${flag}${width}${precision}s`, value })),
  word.map((value) => ({ format: '%q', value })),
)

/** Raises an error whose message is to be the same. */
export const mistake = fc.constantFrom(
  'local u return u.x',
  'return s1.x.y',
  'return s1()',
  'return n1 < s1',
  'return {} < {}',
  'return t2 .. s1',
  'return -s2',
  'return #n1',
  'return s1:nope()',
  'return n3 & 1',
  'return "a" | 1',
  'return "abc" + 1',
  'return {} + 1',
  'error()',
  'error(nil)',
  'error("deep", 2)',
  'error(t1)',
  'error({}, 0)',
  'return assert(false, "told")',
  'return assert(nil)',
  'return select(0)',
  'return table.concat({ 1, {}, 3 })',
  'return table.insert({}, 5, 2)',
  'return table.insert({}, 1, 2, 3)',
  'return tonumber("10", 99)',
  'return string.rep()',
  'return ("%d"):format("x")',
  'return ("%d"):format()',
  'return string.char(256)',
  'return math.floor({})',
  'return setmetatable(1, {})',
  'return ipairs()',
  'return ("x"):rep(-1):sub()',
  'return utf8.codepoint("\\xff")',
  'return rawlen(5)',
  'return coroutine.resume(1)',
  'local o = setmetatable({}, { __index = function(_, k) error("no " .. k, 0) end }) return o.field',
)
