import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeptBytes } from '../../../src/sandbox/operations/kept-bytes.ts'
import type { Operation } from '../../../src/schema/worker/operation.ts'
import { exposureBytesLimit } from '../../../src/schema/worker/operation-size.ts'

test('names count as values do, and what is taken back makes room for as much, whatever it was', () => {
  for (const of of ['object', 'sensor', 'control', 'exposed'] as const) {
    const kept = createKeptBytes(100)
    const back: Operation =
      of === 'exposed' ? { kind: 'removeExposure', id: 'name' } : { kind: 'removeValue', of, id: 'name' }
    assert.deepEqual(
      [
        kept.admitValue(of, 'name', 97),
        kept.admitValue(of, 'name', 96),
        kept.admitValue('object', 'other', 1),
        kept.admit(back),
        kept.admitValue('object', 'other', 95),
      ],
      [false, true, false, true, true],
      of,
    )
  }
})

test('of what Home Assistant is told at once there is no more than one message has, and what is taken back makes room', () => {
  const kept = createKeptBytes(100)
  const describing = (id: string): Operation => {
    const options = ['x'.repeat(exposureBytesLimit / 2)]
    return {
      kind: 'setExposure',
      id,
      exposure: { component: 'select', type: 'select', name: 'n', features: [], writable: [], options },
    }
  }
  assert.deepEqual(
    [describing('a'), describing('b'), { kind: 'removeExposure', id: 'a' } as const, describing('b')].map(
      (operation) => kept.admit(operation),
    ),
    [true, false, true, true],
  )
})
