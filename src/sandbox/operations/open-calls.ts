import type { Clock } from '../../base/time/clock.ts'
import { waitAtMost } from '../../base/time/wait.ts'
import { messageOf } from '../../base/problem.ts'
import { failedAnswer } from '../../schema/outside/failed-answer.ts'
import type { OutsideAnswer, OutsideCall } from '../../schema/outside/outside.ts'
import type { IsolateServices } from '../isolate.ts'

/** Calls of one isolate under way at the same time; its own limits are lower. */
const openLimit = 1_000

/** The calls of one isolate to services that take their time, as the host sees them. */
export interface OpenCalls {
  /** `foreignCaller`: on whose behalf, see `IsolateServices.request`. */
  start(number: number, call: OutsideCall, foreignCaller?: string): void
  cancel(number: number): void
  /** Waits for what is under way, at most so many milliseconds; the rest is cut short. */
  finish(milliseconds: number): Promise<void>
  /** Cuts everything short; no answer is told any more. */
  abort(): void
}

export interface OpenCallsSettings {
  clock: Clock
  services: Pick<IsolateServices, 'request'>
  /** Told of each answer, unless the call was cancelled. */
  answer(number: number, answer: OutsideAnswer): void
}

export function createOpenCalls({ clock, services, answer }: OpenCallsSettings): OpenCalls {
  const open = new Map<number, { controller: AbortController; done: Promise<void> }>()

  async function perform(
    number: number,
    call: OutsideCall,
    foreignCaller: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    let result: OutsideAnswer
    try {
      result = await services.request(call, signal, foreignCaller)
    } catch (error) {
      result = failedAnswer(call.service, messageOf(error))
    }
    if (!signal.aborted) answer(number, result)
  }

  function cancel(number: number): void {
    open.get(number)?.controller.abort()
    open.delete(number)
  }

  function abort(): void {
    for (const number of [...open.keys()]) cancel(number)
  }

  return {
    start(number, call, foreignCaller) {
      if (open.size >= openLimit) {
        answer(number, failedAnswer(call.service, 'too many requests are under way'))
        return
      }
      const controller = new AbortController()
      const done = perform(number, call, foreignCaller, controller.signal).finally(() => open.delete(number))
      open.set(number, { controller, done })
    },
    cancel,
    abort,
    async finish(milliseconds) {
      const all = Promise.all([...open.values()].map(({ done }) => done))
      await waitAtMost(clock, milliseconds, all)
      abort()
    },
  }
}
