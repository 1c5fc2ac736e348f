import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csv } from '../../../src/sandbox/worker/formats/csv.ts'
import { createByteBudget } from '../../../src/sandbox/worker/budgets/byte-budget.ts'
import { toJson } from '../../../src/sandbox/worker/lua/json-values.ts'
import { bytes, createState } from '../lua/lua-state.ts'

test('§16 others have their turn while a line of many fields is read, and while it is made a table', () => {
  const context = { runtime: createState(), byteBudget: () => createByteBudget(0), toJson: () => undefined }
  const steps = csv.decode?.(context, bytes(','.repeat(4_999)))
  assert.ok(typeof steps === 'object' && 'next' in steps)
  let pauses = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) {
    assert.deepEqual(step.value, { kind: 'pause' })
    pauses += 1
  }
  assert.equal(pauses, 20)
  assert.ok(typeof step.value === 'object' && 'kind' in step.value && step.value.kind === 'table')
  assert.deepEqual(toJson(step.value), [Array<string>(5_000).fill('')])
})
