import fc from 'fast-check'
import { isJsonObject } from '../../src/base/text/json.ts'

/** What borders are fuzzed with: texts and values that have hurt programs before, and mutations of good ones. */

/** How many inputs each law is tried with: `LUPINE_FUZZ_RUNS=10000` for a long night. */
export const runs = Number(process.env.LUPINE_FUZZ_RUNS ?? 150)

// Without the error itself, a counterexample says little.
fc.configureGlobal({ includeErrorInReport: true })

export const nastyTexts: readonly string[] = [
  '',
  ' ',
  '\u0000',
  '\n',
  '\r\n\r\n',
  '.',
  '..',
  '../../etc/passwd',
  '..%2f..%2fetc%2fpasswd',
  '%',
  '%00',
  '%ff',
  '%c0%ae',
  '/',
  '//',
  '\\',
  '#',
  '+',
  '$SYS/x',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '@',
  '@/',
  '@a/b',
  '@fixtures/hello',
  '@FIXTURES/HELLO',
  '@fixtures--hello/x',
  'hello',
  'demo',
  '\ud800',
  '\udfff\ud800',
  '\u202e\u2066',
  '𝒳'.repeat(50),
  'é',
  'e\u0301',
  'a'.repeat(300),
  'a'.repeat(70_000),
  '-1',
  '0',
  '1e999',
  '0x10',
  'NaN',
  'null',
  'true',
  '{}',
  '[]',
  '<script>alert(1)</script>',
  "'; DROP TABLE plugins; --",
  '${7*7}{{7*7}}',
  '********',
  '99999999999999999999',
  '1.2.3-',
  'v1',
  '^1 || >=0',
]

/** Without the halves of characters that no UTF-8 can carry. */
export const wellFormed = (value: string): string => Buffer.from(value).toString()

export const text = (): fc.Arbitrary<string> =>
  fc.oneof(fc.constantFrom(...nastyTexts), fc.string(), fc.string({ unit: 'binary', maxLength: 20 }))

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = wrap(value)
  return value
}

/** An object with a member of this name that is its own, which `{ __proto__: … }` would not make. */
const owning = (name: string, value: unknown): unknown => Object.fromEntries([[name, value]])

const nastyValues: readonly unknown[] = [
  null,
  true,
  0,
  -0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  1e308,
  5e-324,
  [],
  {},
  [[]],
  [null],
  owning('__proto__', { polluted: true }),
  owning('constructor', { prototype: { polluted: true } }),
  owning('toString', 1),
  owning('', 1),
  owning('length', 2 ** 31),
  nested(63, (inner) => [inner]),
  nested(70, (inner) => ({ a: inner })),
  nested(1_000, (inner) => [inner]),
  Array.from({ length: 1_000 }, (_, index) => index),
]

/** Anything that JSON can say. */
export const json = (): fc.Arbitrary<unknown> =>
  fc.oneof(fc.constantFrom(...nastyValues), text(), fc.jsonValue({ maxDepth: 4 }), fc.double())

/** What a structured clone can carry and JSON cannot. */
export const uncommonValue = (): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.constantFrom<unknown>(
      undefined,
      NaN,
      Infinity,
      -Infinity,
      10n,
      new Date(0),
      new Date(NaN),
      new Map([['a', 1]]),
      new Set([1]),
      /x/,
      new Error('x'),
      new ArrayBuffer(4),
      new Uint8Array(4),
      new Float64Array(2),
      Object.assign([1, 2], { extra: 1 }),
      [, 1],
      circular(),
      nested(1_000, (inner) => [inner]),
      { toJSON: 1 },
    ),
    json(),
  )

function circular(): unknown {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}

type Mutation = { kind: 'replace' | 'remove' | 'add' | 'wrap'; at: number; value: unknown; key: string }

const mutation = (value: fc.Arbitrary<unknown>): fc.Arbitrary<Mutation> =>
  fc.record({
    kind: fc.constantFrom(
      'replace' as const,
      'replace' as const,
      'remove' as const,
      'add' as const,
      'wrap' as const,
    ),
    at: fc.nat({ max: 10_000 }),
    value,
    key: text(),
  })

/** A good value with one to three things in it replaced, removed, added or wrapped. */
export function mutated(good: unknown, values: fc.Arbitrary<unknown> = json()): fc.Arbitrary<unknown> {
  return fc
    .array(mutation(values), { minLength: 1, maxLength: 3 })
    .map((mutations) =>
      mutations.reduce<unknown>(
        (mutant, change) => apply(mutant, { ...change, value: ownCopy(change.value) }),
        structuredClone(good),
      ),
    )
}

/** The same value may be drawn twice; put into itself it would be a circle, which no JSON text has. */
function ownCopy(value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch {
    return value
  }
}

function apply(value: unknown, change: Mutation): unknown {
  const holder = { root: value }
  const places: [container: object, key: string][] = []
  const collect = (container: object, depth: number): void => {
    for (const key of Object.keys(container)) {
      places.push([container, key])
      const inner: unknown = Reflect.get(container, key)
      if (depth < 8 && typeof inner === 'object' && inner !== null && !ArrayBuffer.isView(inner)) {
        collect(inner, depth + 1)
      }
    }
  }
  collect(holder, 0)
  const [container, key] = places[change.at % places.length] ?? [holder, 'root']
  const present: unknown = Reflect.get(container, key)
  if (change.kind === 'remove' && Array.isArray(container)) container.splice(Number(key), 1)
  else if (change.kind === 'remove' && container !== holder) Reflect.deleteProperty(container, key)
  else if (change.kind === 'wrap') Reflect.set(container, key, [present])
  else if (change.kind === 'add' && isJsonObject(present) && !ArrayBuffer.isView(present)) {
    Object.defineProperty(present, change.key, {
      value: change.value,
      enumerable: true,
      writable: true,
      configurable: true,
    })
  } else Reflect.set(container, key, change.value)
  return holder.root
}

/** JSON text of a value, sometimes cut, doubled or with bytes changed. */
export function brokenText(value: fc.Arbitrary<unknown>): fc.Arbitrary<Buffer> {
  return fc
    .tuple(
      value,
      fc.constantFrom('whole', 'whole', 'cut', 'byte', 'tail', 'bom'),
      fc.nat(),
      fc.integer({ min: 0, max: 255 }),
    )
    .map(([good, how, at, byte]) => {
      const bytes = Buffer.from(JSON.stringify(good) ?? '')
      const place = bytes.length === 0 ? 0 : at % bytes.length
      if (how === 'cut') return bytes.subarray(0, place)
      if (how === 'byte' && bytes.length > 0) bytes[place] = byte
      if (how === 'tail') return Buffer.concat([bytes, Buffer.from([byte, 0x0a])])
      if (how === 'bom') return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])
      return bytes
    })
}

export const bytes = (): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ maxLength: 300, size: 'max' }).map((array) => Buffer.from(array))
