import type { TimeBudget } from '../budgets/time-budget.ts'
import type { Excess } from '../../../schema/worker/worker-protocol.ts'
import type { Turns } from './turns.ts'

const reasons: Readonly<Record<Excess, string>> = {
  time: 'stopped, because it cannot be set aside, and takes too long for a worker that it shares with other plugins',
  memory: 'stopped, because it takes too much memory of a worker that it shares with other plugins',
  'machine memory':
    'stopped, because it has most of a worker that it shares, on a machine with hardly any memory left',
}

/** The time budget of an isolate that shares its worker: it may be stopped for the sake of the others, too. */
export function createTurnBudget(own: TimeBudget, turns: Turns, isolate: number): TimeBudget {
  return {
    run: (account, task) => turns.run(isolate, () => own.run(account, task)),
    check() {
      const excess = turns.excess(isolate)
      return excess === undefined ? own.check() : reasons[excess]
    },
    runUncharged: own.runUncharged,
  }
}
