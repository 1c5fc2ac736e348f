import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProcessorTimeMeter } from '../../src/base/time/starvation.ts'
import {
  createProcessorShare,
  longestStep,
  processorInterval,
} from '../../src/sandbox/worker/budgets/processor-share.ts'
import {
  addWait,
  createTimeBudget,
  openAccount,
  type TimeAccount,
  waitingLimit,
} from '../../src/sandbox/worker/budgets/time-budget.ts'

function budgetAt() {
  /** Milliseconds; for `still` the process had no processor, and for `waited` its neighbours in it, and not this thread. */
  const time = { now: 0, still: 0, waited: 0 }
  const clock = { monotonic: () => time.now, processorTime: () => time.now - time.still }
  const share = createProcessorShare(createProcessorTimeMeter(clock, () => time.waited))
  return { time, budget: createTimeBudget(clock, share), neighbour: createTimeBudget(clock, share) }
}

test('waiting does not count, up to a limit for one entry', () => {
  const { time, budget } = budgetAt()
  const first = openAccount(1_000)
  budget.run(first, () => {
    budget.runUncharged(() => void (time.now += waitingLimit))
    time.now += 900
    assert.equal(budget.check(), undefined)
    budget.runUncharged(() => void (time.now += 200))
    assert.match(budget.check() ?? '', /^stopped, because it ran for longer than 1 s/)
  })
  assert.ok(first.exceeded)
  budget.run(openAccount(1_000), () => {
    budget.runUncharged(() => void (time.now += waitingLimit))
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
    budget.runUncharged(() => {
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
    time.still += 60_000
    assert.equal(budget.check(), undefined)
    for (const each of [1, 2, 3, 4]) {
      time.now += longestStep
      assert.equal(budget.check(), undefined, `${each} s of its own`)
    }
    time.now += longestStep
    assert.match(budget.check() ?? '', /longer than 5 s/)
  })
})

test('what has to end by a time ends later by a standstill, and not by a long step of its own', () => {
  for (const still of [59_000, 0]) {
    const { time, budget } = budgetAt()
    const account = openAccount(50_000, 5_000)
    budget.run(account, () => {
      time.now += 60_000
      time.still += still
      budget.check()
      time.now += 3_900
      assert.equal(budget.check() === undefined, still > 0)
      time.now += 200
      assert.match(budget.check() ?? '', /^stopped/)
    })
  }
})

test('what hardly has a processor has the more time, and five times as much at most', () => {
  /** Milliseconds until Lua is stopped, that asks each millisecond, while the process has this share of a processor. */
  const timeWith = (share: number): number => {
    const { time, budget } = budgetAt()
    budget.run(openAccount(5_000), () => {
      while (budget.check() === undefined) {
        time.now += 1
        time.still += 1 - share
      }
    })
    return time.now
  }
  assert.equal(timeWith(1), 5_000)
  assert.equal(timeWith(0.9), 5_000)
  for (const [share, expected] of [
    [0.5, 10_000],
    [0.1, 25_000],
    [0, 25_000],
  ] as const) {
    const off = expected - timeWith(share)
    // The first look is behind the first quarter of a second, which counts in full.
    assert.ok(off >= 0 && off <= 5 * processorInterval, `${share}: ${off} ms`)
  }
})

test('a processor that others of the process have, in their own threads, is wanting as well', () => {
  for (const [waited, expected] of [
    [0.1, 5_000],
    [0.5, 10_000],
    [0.95, 25_000],
  ] as const) {
    const { time, budget } = budgetAt()
    budget.run(openAccount(5_000), () => {
      while (budget.check() === undefined) {
        time.now += 1
        time.waited += waited
      }
    })
    const off = expected - time.now
    assert.ok(off >= 0 && off <= 5 * processorInterval, `${waited}: ${off} ms`)
  }
})

test('a processor that is wanting is wanting for all who take turns in a thread', () => {
  const { time, budget, neighbour } = budgetAt()
  const account = openAccount(60_000)
  const others = openAccount(60_000)
  for (let slice = 0; slice < 500; slice += 1) {
    for (const [of, on] of [
      [budget, account],
      [neighbour, others],
    ] as const) {
      of.run(on, () => {
        time.now += 20
        time.still += 15
      })
    }
  }
  // Of 10 s of slices there was a processor for a quarter; its neighbour's quarter is not its own.
  assert.ok(account.spent < 3_000, `${account.spent} ms`)
})

test('a processor that was wanting in one call is not wanting for ever', () => {
  const { time, budget } = budgetAt()
  const run = (milliseconds: number, share: number): TimeAccount => {
    const account = openAccount(60_000)
    budget.run(account, () => {
      for (let left = milliseconds; left > 0; left -= 1) {
        time.now += 1
        time.still += 1 - share
        budget.check()
      }
    })
    return account
  }
  assert.ok(run(10_000, 0.1).spent < 3_000)
  assert.ok(run(10_000, 1).spent > 9_500)
})

test('what takes long in one step counts as a whole when the process has worked all the while', () => {
  const { time, budget } = budgetAt()
  const account = openAccount(5_000)
  budget.run(account, () => {
    for (const each of [1, 2]) {
      time.now += 2_400
      assert.equal(budget.check(), undefined, `step ${each}`)
    }
    time.now += 200
    assert.match(budget.check() ?? '', /longer than 5 s/)
  })
  assert.ok(account.spent <= 5_000, `${account.spent} ms`)
})
