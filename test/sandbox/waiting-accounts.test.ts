import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Steps } from '../../src/sandbox/worker/lua/steps.ts'
import { createWaitingAccounts, WaitedTooLong } from '../../src/sandbox/worker/peers/waiting-accounts.ts'

test('who was slow is asked again after a pause that grows with what it took; who is quick is asked always', () => {
  let now = 0
  const run = createWaitingAccounts(() => now)
  const take = (plugin: string, milliseconds: number): boolean => {
    try {
      const task = function* (): Steps<void> {
        now += milliseconds
        yield* []
      }
      run(plugin, task()).next()
      return true
    } catch (error) {
      assert.ok(error instanceof WaitedTooLong)
      return false
    }
  }
  for (const [took, pause] of [
    [1_500, 5_000],
    [5_000, 22_500],
  ] as const) {
    assert.ok(take('slow', took))
    assert.ok(!take('slow', 1))
    assert.ok(take('other', 1))
    now += pause - 20
    assert.ok(!take('slow', 1))
    now += 20
    assert.ok(take('slow', 0))
    now += 10_000
  }
  for (let round = 0; round < 10_000; round += 1) {
    assert.ok(take('quick', 150))
    now += 850
  }
})
