import type { Clock } from '../../base/time/clock.ts'
import { pause } from '../../base/time/wait.ts'
import { StoreUnreachableError } from './store-errors.ts'

/** Milliseconds until something that the store does not answer is given up, and between two tries. */
const patience = 5_000
const pauseTime = 100

/** Tries again what the store has not answered. Only for what may be done more than once. */
export async function retrying<T>(clock: Clock, task: () => Promise<T>): Promise<T> {
  for (const end = clock.monotonic() + patience; ;) {
    try {
      return await task()
    } catch (error) {
      if (!(error instanceof StoreUnreachableError) || clock.monotonic() >= end) throw error
      await pause(clock, pauseTime)
    }
  }
}
