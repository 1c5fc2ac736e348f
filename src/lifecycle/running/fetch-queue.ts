import type { Clock } from '../../base/time/clock.ts'
import { Problem } from '../../base/problem.ts'
import { defaultRepositoryLimits } from '../../repository/limits.ts'

/**
 * Missing files of so many plugins are fetched at the same time, each with a few connections and up to 10 MiB in memory: as many
 * as load at a time. One of each repository is in any case, so that none that is silent keeps another one waiting.
 */
export const fetchesAtOnce = 16

/** Fetches of missing files, of all plugins that lack some. */
export interface FetchQueue {
  /**
   * Fetches when it is its turn. Rejects as `fetch` does, when the signal is aborted before, and with what another one has met that
   * had the repository's silence for an answer: nobody waits for that again.
   */
  run<T>(repository: string, signal: AbortSignal, fetch: () => Promise<T>): Promise<T>
}

interface Waiting {
  repository: string
  begin(): void
  fail(error: Error): void
}

export function createFetchQueue(clock: Pick<Clock, 'monotonic'>): FetchQueue {
  /** By repository. */
  const underWay = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let total = 0

  const mayBegin = (repository: string): boolean => total < fetchesAtOnce || !underWay.has(repository)

  function begin(repository: string): void {
    total += 1
    underWay.set(repository, (underWay.get(repository) ?? 0) + 1)
  }

  function end(repository: string): void {
    total -= 1
    const left = (underWay.get(repository) ?? 1) - 1
    if (left > 0) underWay.set(repository, left)
    else underWay.delete(repository)
    for (const next of waiting) if (mayBegin(next.repository)) next.begin()
  }

  function turn(repository: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(entry)
        signal.removeEventListener('abort', abort)
      }
      const entry: Waiting = {
        repository,
        begin() {
          leave()
          begin(repository)
          resolve()
        },
        fail(error) {
          leave()
          reject(error)
        },
      }
      const abort = (): void => entry.fail(new Error(String(signal.reason)))
      if (mayBegin(repository)) {
        entry.begin()
        return
      }
      waiting.add(entry)
      signal.addEventListener('abort', abort)
    })
  }

  return {
    async run(repository, signal, fetch) {
      await turn(repository, signal)
      const begun = clock.monotonic()
      try {
        return await fetch()
      } catch (error) {
        const wasSilent = clock.monotonic() - begun >= defaultRepositoryLimits.requestTime
        if (wasSilent && error instanceof Problem && error.code === 'repository_unreachable')
          for (const other of waiting) if (other.repository === repository) other.fail(error)
        throw error
      } finally {
        end(repository)
      }
    },
  }
}
