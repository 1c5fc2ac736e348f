import type { Clock } from '../../../base/time/clock.ts'
import { StoreUnreachableError } from '../../../fleet/store/store-errors.ts'

/** For whatever may only be done by the one host of this name: waits until the store knows this one to be it. */
export interface SessionWait {
  /**
   * Resolves while the session lives. Rejects when this host has to end: with why; and with `StoreUnreachableError` when
   * neither is known for long, or the start is interrupted.
   */
  begun(): Promise<void>
  /** The session has begun, or this host is closed. */
  look(): void
  failed(error: Error): void
}

/** Milliseconds that are waited for a session at once. One of another directory is replaced after 6.7 s. */
const sessionPatience = 8_000

export function createSessionWait(parts: {
  clock: Clock
  interrupt: AbortSignal | undefined
  isLive: () => boolean
}): SessionWait {
  const { clock, interrupt, isLive } = parts
  const waiting = new Set<() => void>()
  let failure: Error | undefined

  function look(): void {
    for (const end of waiting) end()
  }

  return {
    begun: () =>
      new Promise((resolve, reject) => {
        const timer = clock.schedule(sessionPatience, end)
        function end(): void {
          timer.cancel()
          waiting.delete(end)
          interrupt?.removeEventListener('abort', end)
          if (failure !== undefined) reject(failure)
          else if (isLive()) resolve()
          else reject(new StoreUnreachableError("The fleet's store has not taken this host's session yet."))
        }
        waiting.add(end)
        interrupt?.addEventListener('abort', end)
        if (failure !== undefined || isLive() || interrupt?.aborted === true) end()
      }),
    look,
    failed(error) {
      failure = error
      look()
    },
  }
}
