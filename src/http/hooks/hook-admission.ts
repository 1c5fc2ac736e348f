import type { Clock } from '../../base/time/clock.ts'
import { Problem } from '../../base/problem.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '../../base/semaphore.ts'
import { createTurnLimiter } from '../../base/turn-limiter.ts'

/** Requests of one plugin that are handled or answered at one time. */
export const concurrentHooksLimit = 16
/** Of one plugin, requests that are read, or wait to be handled. */
export const waitingHooksLimit = 100
/** Requests of one plugin with a large body, from when most of it is read until the answer: each may have a megabyte. */
export const largeBodiesLimit = 16
/** Over all plugins: half of the connections that the host takes, so that the other half stays for everybody else. */
const hooksAtOnce = 500
/** Over all plugins, requests that begin in one turn of the event loop: each takes some hundred microseconds in all. */
const hooksInTurn = 2
/** Milliseconds that a request waits for its turn. */
const patience = 10_000

/** Admits requests to plugins, so that a flood to one is that plugin's affair alone. Each function answers how to give the place back. */
export interface HookAdmission {
  /**
   * Before anything is read. Throws `hook_unavailable` when too many are here, and `refuseSlowest` has nobody of this plugin, or
   * of all, to give way to it.
   */
  enter(plugin: string, refuseSlowest: (plugin?: string) => boolean): () => void
  /**
   * To be handled. Rejects with `hook_unavailable` when it has waited long enough, or `signal` says that the other side
   * has left.
   */
  take(plugin: string, signal: AbortSignal): Promise<() => void>
  /** To have a large body read; as `take`. */
  takeLarge(plugin: string, signal: AbortSignal): Promise<() => void>
}

export function createHookAdmission(clock: Clock): HookAdmission {
  const handled = createKeyedSemaphore()
  const large = createKeyedSemaphore()
  const passTurn = createTurnLimiter(hooksInTurn)
  const here = new Map<string, number>()
  let all = 0

  async function wait(
    places: KeyedSemaphore,
    plugin: string,
    width: number,
    signal: AbortSignal,
  ): Promise<() => void> {
    if (signal.aborted) throw tooMany()
    const leave = await places.take(plugin, width, (giveUp) => {
      const deadline = clock.schedule(patience, giveUp)
      signal.addEventListener('abort', giveUp, { once: true })
      return () => {
        deadline.cancel()
        signal.removeEventListener('abort', giveUp)
      }
    })
    if (leave === undefined) throw tooMany()
    return leave
  }

  return {
    enter(plugin, refuseSlowest) {
      const isFull = (here.get(plugin) ?? 0) >= concurrentHooksLimit + waitingHooksLimit
      if (isFull ? !refuseSlowest(plugin) : all >= hooksAtOnce && !refuseSlowest()) throw tooMany()
      all += 1
      here.set(plugin, (here.get(plugin) ?? 0) + 1)
      return () => {
        all -= 1
        const rest = (here.get(plugin) ?? 0) - 1
        if (rest > 0) here.set(plugin, rest)
        else here.delete(plugin)
      }
    },
    async take(plugin, signal) {
      const leave = await wait(handled, plugin, concurrentHooksLimit, signal)
      await passTurn()
      return leave
    },
    takeLarge: (plugin, signal) => wait(large, plugin, largeBodiesLimit, signal),
  }
}

export function tooMany(): Problem {
  return new Problem('hook_unavailable', 'Too many requests are under way here; try again later.', {
    retryAfter: 1,
  })
}
