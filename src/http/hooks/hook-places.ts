import type { Clock } from '../../base/time/clock.ts'
import { Problem } from '../../base/problem.ts'
import { createKeyedSemaphore } from '../../base/semaphore.ts'
import { createTurnLimiter } from './turn-limiter.ts'

/** Requests of one plugin that are read, handled or answered at one time. */
export const hooksUnderWay = 16
/** Of one plugin, requests that wait for that. Nothing of their bodies has been read. */
export const hooksWaiting = 100
/** Over all plugins: half of the connections that the host takes, so that the other half stays for everybody else. */
const hooksAtOnce = 500
/** Over all plugins, requests that begin in one turn of the event loop: each takes some hundred microseconds in all. */
const hooksInTurn = 2
/** Milliseconds that a request waits for its turn. */
const patience = 10_000

/** Sees to it that a flood of requests to one plugin is that plugin's affair alone. */
export interface HookPlaces {
  /**
   * Resolves with how to give the place back. Rejects with `hook_unavailable` when too many are waiting, or it has
   * waited long enough, or `signal` says that the other side has left.
   */
  take(plugin: string, signal: AbortSignal): Promise<() => void>
}

export function createHookPlaces(clock: Clock): HookPlaces {
  const places = createKeyedSemaphore(hooksWaiting)
  const turns = createTurnLimiter(hooksInTurn)
  let all = 0

  return {
    async take(plugin, signal) {
      if (all >= hooksAtOnce) throw tooMany()
      all += 1
      const leave = await places.take(plugin, hooksUnderWay, (giveUp) => {
        const deadline = clock.schedule(patience, giveUp)
        signal.addEventListener('abort', giveUp, { once: true })
        return () => {
          deadline.cancel()
          signal.removeEventListener('abort', giveUp)
        }
      })
      if (leave === undefined) {
        all -= 1
        throw tooMany()
      }
      await turns.pass()
      return () => {
        all -= 1
        leave()
      }
    },
  }
}

export function tooMany(): Problem {
  return new Problem('hook_unavailable', 'Too many requests are under way here; try again later.', {
    retryAfter: 1,
  })
}
