import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { LuaTable, LuaValue } from '../../src/sandbox/worker/lua/lua-value.ts'
import { deserializeValues, serializeValues } from '../../src/sandbox/worker/peers/serialized-values.ts'
import type { Steps } from '../../src/sandbox/worker/lua/steps.ts'
import type { SerializedValues, Reference } from '../../src/schema/worker/plugin-call.ts'
import { bytes, createState } from './lua/lua-state.ts'

const runtime = createState()
const other = createState()
const noReference = (): never => assert.fail('nothing is referred to')
const { complete } = runtime

function serialized(
  values: readonly LuaValue[],
  how: Partial<Parameters<typeof serializeValues>[1]> = {},
): SerializedValues {
  return complete(serializeValues(values, { refer: noReference, ...how }))
}

const deserialized = (body: Uint8Array): LuaValue[] =>
  complete(deserializeValues(body, { newTable: other.newTable, resolved: [] }))

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
      const read = deserialized(serialized(values).body)
      assert.deepEqual(read.map(shape), values.map(shape))
    }),
  )
})

test('values of any length in a row are serialized, wherever the room for them ends', () => {
  for (let length = 1; length < 600; length += 1) {
    const values = [bytes('x'.repeat(length)), true, false, undefined, true]
    const read = deserialized(serialized(values).body)
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
  const { references } = serialized([f, withFunction, withMetatable, plain, f], { refer })
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
  const { body } = serialized([bytes('secret'), table], { withheld })
  assert.equal(Buffer.from(body).includes('secret'), false)
  assert.deepEqual(deserialized(body).map(shape), [
    null,
    [[`bytes ${Buffer.from('b').toString('hex')}`, [[2, shape(bytes('open'))]]]],
  ])
})

test('broken serialized values are an error, never a value from nowhere', () => {
  const { body } = serialized([bytes('text'), 5, true])
  for (const end of [1, 4, 8, 12, 16]) assert.throws(() => deserialized(body.slice(0, end)), RangeError)
  assert.throws(() => deserialized(Uint8Array.of(99)), RangeError)
  // A table that says of itself that it has more entries than may be.
  const boasting = Uint8Array.of(5, 0xff, 0xff, 0xff, 0xff)
  assert.throws(() => deserialized(boasting), /more than \d+ entries/)
})

/** Rows of four fields. */
function rows(count: number): LuaValue {
  const source = `local rows = {}
    for i = 1, ${count} do rows[i] = { name = 'n' .. i, value = i, unit = 'W', ok = i % 2 == 0 } end
    return rows`
  return runtime.run(bytes(source), 'rows')[0]
}

/** Takes both in turns, and answers what comes of them, with how often each was set aside. */
function alternating<T>(steps: Steps<T>[]): { value: T; pauses: number }[] {
  const pauses = steps.map(() => 0)
  const values = new Map<number, T>()
  while (values.size < steps.length) {
    for (const [index, each] of steps.entries()) {
      if (values.has(index)) continue
      const step = each.next()
      if (step.done === true) values.set(index, step.value)
      else pauses[index] = (pauses[index] ?? 0) + 1
    }
  }
  return pauses.map((count, index) => ({ value: values.get(index) as T, pauses: count }))
}

test('others have their turn in the midst of many values, which come out the same all the same', () => {
  const values = [rows(2_000), rows(300)]
  const packed = alternating(values.map((value) => serializeValues([value], { refer: noReference })))
  const read = alternating(
    packed.map(({ value }) => deserializeValues(value.body, { newTable: other.newTable, resolved: [] })),
  )
  assert.deepEqual(
    read.map(({ value }) => value.map(shape)),
    values.map((value) => [shape(value)]),
  )
  // A row is ten values or so.
  for (const [one, two] of [packed, read]) {
    assert.ok(one !== undefined && one.pauses >= 2_000 / 40, `${one?.pauses} pauses`)
    assert.ok(two !== undefined && two.pauses >= 300 / 40, `${two?.pauses} pauses`)
  }
})

test('2.4 a few values take the same bytes alone and beside a table, and are read either way', () => {
  const values = [undefined, true, false, 21.5, bytes('lamp'), bytes('')]
  const alone = serialized(values).body
  const beside = serialized([...values, runtime.newTable()]).body
  assert.deepEqual(beside.subarray(0, alone.length), alone)
  assert.deepEqual(deserialized(alone), values)
  assert.deepEqual(deserialized(beside).slice(0, values.length), values)
  const ends = values.map((_value, index) => serialized(values.slice(0, index)).body.length)
  for (let length = 0; length < alone.length; length += 1) {
    const cut = alone.subarray(0, length)
    if (ends.includes(length)) assert.deepEqual(deserialized(cut), values.slice(0, ends.indexOf(length)))
    else assert.throws(() => deserialized(cut), RangeError)
  }
})
