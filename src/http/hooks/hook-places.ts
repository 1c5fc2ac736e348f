import type { Clock } from '../../base/time/clock.ts'
import { Problem } from '../../base/problem.ts'
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

interface Queue {
  underWay: number
  waiting: Set<() => void>
}

export function createHookPlaces(clock: Clock): HookPlaces {
  const queues = new Map<string, Queue>()
  const turns = createTurnLimiter(hooksInTurn)
  let all = 0

  function leave(plugin: string, queue: Queue): void {
    const [next] = queue.waiting
    // The place goes from hand to hand: nobody who comes later gets in between.
    if (next !== undefined) {
      queue.waiting.delete(next)
      next()
      return
    }
    queue.underWay -= 1
    if (queue.underWay === 0) queues.delete(plugin)
  }

  function waitIn(queue: Queue, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        deadline.cancel()
        signal.removeEventListener('abort', giveUp)
      }
      const begin = (): void => {
        settle()
        resolve()
      }
      const giveUp = (): void => {
        settle()
        queue.waiting.delete(begin)
        reject(tooMany())
      }
      const deadline = clock.schedule(patience, giveUp)
      signal.addEventListener('abort', giveUp, { once: true })
      queue.waiting.add(begin)
    })
  }

  return {
    async take(plugin, signal) {
      const queue = queues.get(plugin) ?? { underWay: 0, waiting: new Set() }
      if (all >= hooksAtOnce || queue.waiting.size >= hooksWaiting) throw tooMany()
      queues.set(plugin, queue)
      all += 1
      try {
        if (queue.underWay < hooksUnderWay) queue.underWay += 1
        else await waitIn(queue, signal)
        await turns.pass()
      } catch (error) {
        all -= 1
        throw error
      }
      let left = false
      return () => {
        if (left) return
        left = true
        all -= 1
        leave(plugin, queue)
      }
    },
  }
}

export function tooMany(): Problem {
  return new Problem('hook_unavailable', 'Too many requests are under way here; try again later.', {
    retryAfter: 1,
  })
}
