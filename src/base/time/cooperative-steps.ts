import { setImmediate } from 'node:timers/promises'

/** Work in steps, of which each takes far less than a turn may: it yields after each one, and returns what came of all. */
export type Steps<T> = Generator<undefined, T>

/** Milliseconds of it at a stretch; then others have their turn. */
const sliceLimit = 5

/** Runs long work over several turns of the event loop. Rejects with what a step throws. */
export async function runCooperatively<T>(steps: Steps<T>): Promise<T> {
  for (let end = performance.now() + sliceLimit; ;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (performance.now() < end) continue
    await setImmediate()
    end = performance.now() + sliceLimit
  }
}

/** Runs all of it in this turn, where nobody else waits for one. Throws what a step throws. */
export function runToCompletion<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
