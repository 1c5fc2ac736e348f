import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHeldThings } from '../../../src/sandbox/operations/held-things.ts'
import { defaultLimits } from '../../../src/sandbox/limits.ts'
import type { Operation } from '../../../src/schema/worker-protocol.ts'

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
  const object = (path: string, value?: number): Operation => ({
    kind: 'setObject',
    path,
    ...(value === undefined ? {} : { value }),
  })
  assert.deepEqual(
    [object('a', 1), object('a', 2), object('b', 1), object('a'), object('b', 1)].map(held.note),
    [true, true, false, true, true],
  )
  const sensor = (id: string): Operation => ({ kind: 'setPoint', point: 'sensor', id })
  const control: Operation = { kind: 'setPoint', point: 'control', id: 'b' }
  assert.deepEqual([sensor('a'), sensor('b'), control].map(held.note), [true, false, true])
})
