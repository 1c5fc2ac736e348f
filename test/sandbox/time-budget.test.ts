import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTimeBudget, waitingLimit } from '../../src/sandbox/worker/time-budget.ts'

function budgetAt() {
  const time = { now: 0 }
  return { time, budget: createTimeBudget(() => time.now) }
}

test('waiting does not count, up to a limit for one entry', () => {
  const { time, budget } = budgetAt()
  budget.run(1_000, () => {
    budget.excuse(() => void (time.now += waitingLimit))
    time.now += 900
    assert.equal(budget.check(), undefined)
    budget.excuse(() => void (time.now += 200))
    assert.match(budget.check() ?? '', /^stopped, because it ran for longer than 1 s/)
  })
  budget.run(1_000, () => {
    budget.excuse(() => void (time.now += waitingLimit))
    assert.equal(budget.check(), undefined, 'the next entry may wait again')
  })
})

test('what is done for another plugin in between has time of its own', () => {
  const { time, budget } = budgetAt()
  budget.run(1_000, () => {
    time.now += 900
    budget.excuse(() => {
      budget.apart(500, () => {
        time.now += 400
        assert.equal(budget.check(), undefined)
        time.now += 200
        assert.match(budget.check() ?? '', /longer than 0\.5 s/)
      })
    })
    assert.deepEqual([budget.check(), budget.exceeded], [undefined, false])
    time.now += 150
    assert.match(budget.check() ?? '', /longer than 1 s/)
  })
})
