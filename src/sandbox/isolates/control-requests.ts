import { type Clock, withDeadline } from '../../base/time/clock.ts'
import type { Json } from '../../base/text/json.ts'
import { Problem } from '../../base/problem.ts'
import type { IsolateMessage } from '../../schema/worker/worker-protocol.ts'
import { createDeferred, type Deferred } from '../../base/time/deferred.ts'

type Outcome = Extract<IsolateMessage, { kind: 'controlAnswered' }>['outcome']

/** Setters that have been called and have not answered yet, by number. */
export interface ControlRequests {
  /** Sends the request with its number; answers what the setter answered. Rejects with `Problem`. */
  ask(name: string, send: (request: number) => void): Promise<Json | undefined>
  answered(request: number, outcome: Outcome): void
  /** Nobody answers any more. */
  rejectAll(reason: Problem): void
}

/** `milliseconds`: from a request to its answer. */
export function createControlRequests(clock: Clock, milliseconds: number): ControlRequests {
  const open = new Map<number, Deferred<Outcome>>()
  let lastRequest = 0
  return {
    async ask(name, send) {
      lastRequest += 1
      const request = lastRequest
      const answer = createDeferred<Outcome>()
      open.set(request, answer)
      send(request)
      const late = (): Problem =>
        new Problem(
          'control_value_invalid',
          `The plugin did not take the value of ${name} within ${milliseconds / 1000} s.`,
        )
      try {
        const outcome = await withDeadline(clock, milliseconds, answer.promise, late)
        if (outcome.ok) return outcome.value
        const code = outcome.reason === 'unknown' ? 'control_unknown' : 'control_value_invalid'
        throw new Problem(code, outcome.message)
      } finally {
        open.delete(request)
      }
    },
    answered: (request, outcome) => open.get(request)?.resolve(outcome),
    rejectAll(reason) {
      for (const request of open.values()) request.reject(reason)
      open.clear()
    },
  }
}
