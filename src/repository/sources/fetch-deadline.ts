import { type Clock, scheduleDeadline } from '../../base/time/clock.ts'
import { SourceError } from './source.ts'

/**
 * Runs what fetches `what` until it is done, one of `outer` is aborted, or so many milliseconds are over. Rejects with the reason
 * of that signal, a `SourceError` that says that it was late, or the task's own failure; what is under way then ends.
 */
export async function withFetchDeadline<T>(
  { clock, time, outer }: { clock: Clock; time: number; outer: readonly AbortSignal[] },
  what: string,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const unfollow = outer.map((signal) => {
    const abort = (): void => controller.abort(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    return () => signal.removeEventListener('abort', abort)
  })
  const late = new SourceError(`${what} did not arrive within ${time / 1000} s; try again later`)
  const deadline = scheduleDeadline(clock, time, () => controller.abort(late))
  try {
    return await task(controller.signal)
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason
    // What is still being fetched is of no use.
    controller.abort()
    throw error
  } finally {
    deadline.cancel()
    for (const end of unfollow) end()
  }
}
