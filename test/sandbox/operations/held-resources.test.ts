import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHeldResources } from '../../../src/sandbox/operations/held-resources.ts'
import { defaultLimits } from '../../../src/sandbox/limits.ts'
import type { LimitName } from '../../../src/schema/plugin/plugin-limits.ts'
import type { Operation } from '../../../src/schema/worker/operation.ts'

const subscribe = (subscription: number): Operation => ({
  kind: 'subscribeTopic',
  subscription,
  filter: 'a/#',
})

test('a worker that subscribes twice under one number is refused: nothing would close the first one', () => {
  const held = createHeldResources(defaultLimits)
  assert.equal(held.note(subscribe(1)), true)
  assert.equal(held.note(subscribe(1)), false)
  assert.equal(held.note({ kind: 'unsubscribeTopic', subscription: 1 }), true)
  assert.equal(held.note(subscribe(1)), true)
  assert.deepEqual(held.release(), [{ kind: 'unsubscribeTopic', subscription: 1 }])
})

test('a worker that does not keep to the limits has no more with the host than they say', () => {
  const held = createHeldResources({ ...defaultLimits, mqttSubscriptions: 2, objects: 1, sensors: 1 })
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

const handler = (number: number): Operation => ({
  kind: 'setHttpHandler',
  handler: number,
  hook: { path: `h${number}`, auth: 'secret', methods: ['POST'] },
})
const exposure = { component: 'light', type: 'light', name: 'Lamp', features: [], writable: [] } as const
const kinds: [limit: LimitName, make: (number: number) => Operation, back: (number: number) => Operation][] =
  [
    [
      'eventSubscriptions',
      (number) => ({ kind: 'subscribeEvent', name: `e${number}` }),
      (number) => ({ kind: 'unsubscribeEvent', name: `e${number}` }),
    ],
    ['mqttSubscriptions', subscribe, (subscription) => ({ kind: 'unsubscribeTopic', subscription })],
    ['httpHandlers', handler, (number) => ({ kind: 'removeHttpHandler', handler: number })],
    [
      'exposures',
      (number) => ({
        kind: 'setExposure',
        id: `x${number}`,
        exposure: { ...exposure, features: [], writable: [] },
      }),
      (number) => ({ kind: 'removeExposure', id: `x${number}` }),
    ],
  ]
for (const [limit, make, back] of kinds) {
  test(`of ${limit} a worker has no more than it may, what it takes back makes room, and the rest is taken back at its end`, () => {
    const held = createHeldResources({ ...defaultLimits, [limit]: 2 })
    assert.deepEqual(
      [make(1), make(2), make(3), back(1), make(3), make(1)].map((operation) => held.note(operation)),
      [true, true, false, true, true, false],
    )
    assert.deepEqual(held.release(), [back(2), back(3)])
    assert.deepEqual([held.release(), held.note(make(1))], [[], true])
  })
}

test('a worker that gives a second handler the number of the first is refused: nothing would remove the first one', () => {
  const held = createHeldResources(defaultLimits)
  assert.deepEqual([held.note(handler(1)), held.note(handler(1))], [true, false])
})
