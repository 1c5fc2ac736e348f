import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countByState } from '../../../src/schema/plugin/plugin.ts'

test('a plugin of which is only known how it was does not count as one that runs', () => {
  assert.deepEqual(
    countByState([
      { state: 'running' },
      { state: 'running', stale: true },
      { state: 'failed', stale: false },
      { state: 'running' },
      { state: 'failed', stale: true },
    ]),
    { running: 2, stale: 2, failed: 1 },
  )
})
