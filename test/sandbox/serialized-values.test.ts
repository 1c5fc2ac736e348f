import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { LuaTable, LuaValue } from '../../src/sandbox/worker/lua/lua-value.ts'
import { deserializeValues, serializeValues } from '../../src/sandbox/worker/peers/serialized-values.ts'
import type { SerializedValues, Reference } from '../../src/schema/plugin-call.ts'
import { bytes, createState } from './lua/lua-state.ts'

const runtime = createState()
const other = createState()
const noReference = (): never => assert.fail('nothing is referred to')

/** A value as a test can compare it: tables as sorted pairs. */
function shape(value: LuaValue): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  if (typeof value !== 'object') return Object.is(value, -0) ? 'minus zero' : (value ?? null)
  if (value.kind === 'function') return value.kind
  return value
    .entries()
    .map(([key, content]) => [shape(key), shape(content)])
    .sort((one, two) => JSON.stringify(one).localeCompare(JSON.stringify(two)))
}

const leaf: fc.Arbitrary<LuaValue> = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.uint8Array({ maxLength: 20 }),
)
const key = fc.oneof(
  fc.double({ noNaN: true }),
  fc.boolean(),
  fc.uint8Array({ maxLength: 5 }),
) as fc.Arbitrary<number | boolean | Uint8Array>
const { value: anyValue } = fc.letrec<{ value: LuaValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((pairs): LuaTable => {
      const table = runtime.newTable()
      for (const [name, content] of pairs) table.set(name, content)
      return table
    }),
  ),
}))

test('whatever plain values are serialized come out the same in another Lua state', () => {
  fc.assert(
    fc.property(fc.array(fc.option(anyValue, { nil: undefined }), { maxLength: 4 }), (values) => {
      const serialized = serializeValues(values, { refer: noReference })
      const read = deserializeValues(serialized, { newTable: other.newTable, resolve: noReference })
      assert.deepEqual(read.map(shape), values.map(shape))
    }),
  )
})

test('values of any length in a row are serialized, wherever the room for them ends', () => {
  for (let length = 1; length < 600; length += 1) {
    const values = [bytes('x'.repeat(length)), true, false, undefined, true]
    const serialized = serializeValues(values, { refer: noReference })
    const read = deserializeValues(serialized, { newTable: other.newTable, resolve: noReference })
    assert.deepEqual(read.map(shape), values.map(shape))
  }
})

test('functions, and tables with functions or a metatable, are referred to, each time that they occur', () => {
  const [f, withFunction, withMetatable, plain] = runtime.run(
    bytes('local f = print return f, { f = f }, setmetatable({}, {}), { f }'),
    'values',
  )
  const referred: LuaValue[] = []
  const refer = (value: LuaValue): Reference => {
    referred.push(value)
    return { owner: 1, handle: referred.length, type: 'table', plugin: '@a/b' }
  }
  const { references } = serializeValues([f, withFunction, withMetatable, plain, f], { refer })
  assert.deepEqual(referred, [f, withFunction, withMetatable, plain, f])
  assert.deepEqual(
    references.map(({ handle }) => handle),
    [1, 2, 3, 4, 5],
  )
})

test('what is withheld is left out, in tables too', () => {
  const [table] = runtime.run(
    bytes('return { a = "secret", b = { "secret", "open" }, secret = 1 }'),
    'values',
  )
  const withheld = (value: LuaValue): boolean =>
    value instanceof Uint8Array && Buffer.from(value).toString() === 'secret'
  const serialized = serializeValues([bytes('secret'), table], { refer: noReference, withheld })
  assert.equal(Buffer.from(serialized.body).includes('secret'), false)
  const read = deserializeValues(serialized, { newTable: other.newTable, resolve: noReference })
  assert.deepEqual(read.map(shape), [
    null,
    [[`bytes ${Buffer.from('b').toString('hex')}`, [[2, shape(bytes('open'))]]]],
  ])
})

test('broken serialized values are an error, never a value from nowhere', () => {
  const whole = serializeValues([bytes('text'), 5, true], { refer: noReference })
  const reading = { newTable: other.newTable, resolve: noReference }
  const cut = (end: number): SerializedValues => ({ ...whole, body: whole.body.slice(0, end) })
  for (const end of [1, 4, 8, 12, 16]) assert.throws(() => deserializeValues(cut(end), reading), RangeError)
  assert.throws(() => deserializeValues({ body: Uint8Array.of(99), references: [] }, reading), RangeError)
  // A table that says of itself that it has more entries than may be.
  const boasting = Uint8Array.of(5, 0xff, 0xff, 0xff, 0xff)
  assert.throws(() => deserializeValues({ body: boasting, references: [] }, reading), /more than \d+ entries/)
})
