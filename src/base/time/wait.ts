import { type Clock, withDeadline } from './clock.ts'

/** Resolves after that time, or as soon as `signal` is aborted. */
export function pause(
  clock: Pick<Clock, 'schedule'>,
  milliseconds: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.schedule(milliseconds, end)
    function end(): void {
      timer.cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    signal?.addEventListener('abort', end)
    if (signal?.aborted === true) end()
  })
}

/** Resolves when `promise` has settled, in whatever way, or after that time. */
export async function waitAtMost(
  clock: Clock,
  milliseconds: number,
  promise: Promise<unknown>,
): Promise<void> {
  await withDeadline(clock, milliseconds, promise, () => new Error('late')).catch(() => undefined)
}

/** Waits until something is so: true, or false after that time. It is asked now, and at each change. */
export function waitUntil(
  clock: Pick<Clock, 'schedule'>,
  milliseconds: number,
  isSo: () => boolean,
  /** Returns the way to stop. */
  onChange: (listener: () => void) => () => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.schedule(milliseconds, () => end(false))
    const stop = onChange(() => {
      if (isSo()) end(true)
    })
    function end(outcome: boolean): void {
      timer.cancel()
      stop()
      resolve(outcome)
    }
    if (isSo()) end(true)
  })
}
