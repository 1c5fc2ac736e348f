import type { TimeBudget } from './time-budget.ts'
import type { Excess, Turns } from './turns.ts'

const reasons: Readonly<Record<Excess, string>> = {
  time: 'stopped, because it takes too long for a worker that it shares with other plugins',
  memory: 'stopped, because it takes too much memory of a worker that it shares with other plugins',
}

/** The time budget of an isolate that shares its worker: every entry into Lua is a turn, and may be cut short. */
export function createTurnBudget(own: TimeBudget, turns: Turns, isolate: number): TimeBudget {
  return {
    run: (milliseconds, task) => turns.run(isolate, () => own.run(milliseconds, task)),
    apart: (milliseconds, task) => turns.run(isolate, () => own.apart(milliseconds, task)),
    check() {
      const excess = turns.excess(isolate)
      return excess === undefined ? own.check() : reasons[excess]
    },
    excuse: (task) => own.excuse(task),
    get exceeded() {
      return own.exceeded
    },
    get inside() {
      return own.inside
    },
  }
}
