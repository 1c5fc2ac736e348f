import type { Clock } from '../base/time/clock.ts'
import { pause } from '../base/time/wait.ts'
import { systemErrorCode } from '../base/problem.ts'
import { roomDelay } from '../base/files/room-delays.ts'

/** What goes by itself when somebody makes room. Everything else needs a person, and often another start. */
const fullDisk: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT'])

/** Whether it was a full disk that refused, also below another error. */
export function isDiskFull(error: unknown): boolean {
  if (fullDisk.has(systemErrorCode(error))) return true
  return error instanceof Error && error.cause !== undefined && isDiskFull(error.cause)
}

export interface Patience {
  clock: Clock
  /** Ends the wait; the task is then tried no more. */
  interrupt: AbortSignal | undefined
  /** Told of each refusal. */
  full(error: unknown): void
}

/** What `task` gives, as soon as the disk has room for it. Rejects with what else it fails with, or when interrupted. */
export async function whenThereIsRoom<T>(task: () => Promise<T>, patience: Patience): Promise<T> {
  const { clock, interrupt, full } = patience
  const interrupted = (): boolean => interrupt?.aborted === true
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await task()
    } catch (error) {
      if (!isDiskFull(error) || interrupted()) throw error
      full(error)
      await pause(clock, roomDelay(attempt), interrupt)
      if (interrupted()) throw error
    }
  }
}
