import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHeldThings } from '../../../src/sandbox/operations/held-things.ts'
import { defaultLimits } from '../../../src/sandbox/limits.ts'
import type { Operation } from '../../../src/schema/worker/operation.ts'

const subscribe = (subscription: number): Operation => ({
  kind: 'subscribeTopic',
  subscription,
  filter: 'a/#',
})

test('a worker that subscribes twice under one number is refused: nothing would close the first one', () => {
  const held = createHeldThings(defaultLimits)
  assert.equal(held.note(subscribe(1)), true)
  assert.equal(held.note(subscribe(1)), false)
  assert.equal(held.note({ kind: 'unsubscribeTopic', subscription: 1 }), true)
  assert.equal(held.note(subscribe(1)), true)
  assert.deepEqual(held.release(), [{ kind: 'unsubscribeTopic', subscription: 1 }])
})

test('a worker that does not keep to the limits has no more with the host than they say', () => {
  const held = createHeldThings({ ...defaultLimits, mqttSubscriptions: 2, objects: 1, sensors: 1 })
  assert.deepEqual(
    [1, 2, 3].map((number) => held.note(subscribe(number))),
    [true, true, false],
  )
  assert.deepEqual(
    ['a', 'a', 'b'].map((path) => held.noteValue('object', path)),
    [true, true, false],
  )
  const removal: Operation = { kind: 'removeValue', of: 'object', id: 'a' }
  assert.deepEqual([held.note(removal), held.noteValue('object', 'b')], [true, true])
  assert.deepEqual(
    [held.noteValue('sensor', 'a'), held.noteValue('sensor', 'b'), held.noteValue('control', 'b')],
    [true, false, true],
  )
  assert.deepEqual(held.release().slice(-3), [
    { kind: 'removeValue', of: 'sensor', id: 'a' },
    { kind: 'removeValue', of: 'control', id: 'b' },
    { kind: 'removeValue', of: 'object', id: 'b' },
  ])
})
