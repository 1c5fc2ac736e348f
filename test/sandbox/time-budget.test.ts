import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addWait,
  createTimeBudget,
  longestStep,
  openAccount,
  waitingLimit,
} from '../../src/sandbox/worker/budgets/time-budget.ts'

function budgetAt() {
  const time = { now: 0, processor: 0 }
  return {
    time,
    budget: createTimeBudget({ monotonic: () => time.now, processorTime: () => time.processor }),
  }
}

test('waiting does not count, up to a limit for one entry', () => {
  const { time, budget } = budgetAt()
  const first = openAccount(1_000)
  budget.run(first, () => {
    budget.excuse(() => void (time.now += waitingLimit))
    time.now += 900
    assert.equal(budget.check(), undefined)
    budget.excuse(() => void (time.now += 200))
    assert.match(budget.check() ?? '', /^stopped, because it ran for longer than 1 s/)
  })
  assert.ok(first.exceeded)
  budget.run(openAccount(1_000), () => {
    budget.excuse(() => void (time.now += waitingLimit))
    assert.equal(budget.check(), undefined, 'the next entry may wait again')
  })
})

test('a call that is set aside has the time that it runs, and waits as one that keeps the stack', () => {
  const { time, budget } = budgetAt()
  const account = openAccount(1_000)
  const slice = (milliseconds: number): string | undefined =>
    budget.run(account, () => {
      time.now += milliseconds
      return budget.check()
    })
  for (let round = 0; round < 9; round += 1) {
    assert.equal(slice(100), undefined)
    time.now += 10_000
  }
  addWait(account, waitingLimit)
  assert.equal(slice(50), undefined)
  assert.equal(account.exceeded, false)
  addWait(account, 40)
  assert.match(slice(10) ?? '', /longer than 1 s/)
  assert.equal(account.exceeded, true)
})

test('what is done for another plugin in between has time of its own', () => {
  const { time, budget } = budgetAt()
  const own = openAccount(1_000)
  budget.run(own, () => {
    time.now += 900
    budget.excuse(() => {
      budget.run(openAccount(500), () => {
        time.now += 400
        assert.equal(budget.check(), undefined)
        time.now += 200
        assert.match(budget.check() ?? '', /longer than 0\.5 s/)
      })
    })
    assert.deepEqual([budget.check(), own.exceeded], [undefined, false])
    time.now += 150
    assert.match(budget.check() ?? '', /longer than 1 s/)
  })
})

test('a process that stands still in the midst of a call takes no time of it but for a moment', () => {
  const { time, budget } = budgetAt()
  const account = openAccount(5_000)
  budget.run(account, () => {
    time.now += 60_000
    assert.equal(budget.check(), undefined)
    for (const each of [1, 2, 3]) {
      time.now += longestStep
      assert.equal(budget.check(), undefined, `${each} s of its own`)
    }
    time.now += longestStep
    assert.match(budget.check() ?? '', /longer than 5 s/)
  })
})

test('what takes long in one step counts as a whole when the process has worked all the while', () => {
  const { time, budget } = budgetAt()
  const account = openAccount(5_000)
  budget.run(account, () => {
    for (const each of [1, 2]) {
      time.now += 2_400
      time.processor += 2_400
      assert.equal(budget.check(), undefined, `step ${each}`)
    }
    time.now += 200
    assert.match(budget.check() ?? '', /longer than 5 s/)
  })
  assert.ok(account.spent <= 5_000, `${account.spent} ms`)
})
