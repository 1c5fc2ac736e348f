import type { LookupFunction } from 'node:net'
import { evictOldest } from '../base/evict-oldest.ts'
import { messageOf } from '../base/problem.ts'
import { systemClock } from '../base/time/clock.ts'

/** Milliseconds after which a name counts as slow: a name server that is there has answered long before. */
const slowTime = 1_000
/** Slow names that are remembered. */
const slowNamesLimit = 1_000

type Callback = Parameters<LookupFunction>[2]

/**
 * Looks each name up once at a time, however many ask for it meanwhile, and of the names that were slow the last time one
 * after another. The system looks up two names at once, cannot be stopped, and takes many seconds for one whose name server is
 * silent: a few of those would have the names of all others wait until they time out, those of this machine and the
 * broker's, too. `now`: in milliseconds.
 */
export function createSharedLookup(
  lookup: LookupFunction,
  now: () => number = systemClock.monotonic,
): LookupFunction {
  const waiting = new Map<string, Callback[]>()
  const slow = new Set<string>()
  /** What is looked up when the slow name is done that is looked up now; undefined: none is. */
  let slowQueue: (() => void)[] | undefined

  function noteTime(hostname: string, since: number): void {
    slow.delete(hostname)
    if (now() - since < slowTime) return
    slow.add(hostname)
    evictOldest(slow, slowNamesLimit)
  }

  function nextSlow(): void {
    const next = slowQueue?.shift()
    if (next === undefined) slowQueue = undefined
    else next()
  }

  return (hostname, options, callback) => {
    const { family = 0, hints = 0, all = false, verbatim, order } = options
    const key = JSON.stringify([hostname, family, hints, all, verbatim, order])
    const others = waiting.get(key)
    if (others !== undefined) {
      others.push(callback)
      return
    }
    const callbacks = [callback]
    waiting.set(key, callbacks)

    function ask(done: () => void): void {
      const since = now()
      const answer: Callback = (...found) => {
        waiting.delete(key)
        noteTime(hostname, since)
        done()
        for (const tell of callbacks) tell(...found)
      }
      try {
        lookup(hostname, options, answer)
      } catch (error) {
        // It will never be answered: nobody is to wait for it.
        answer(error instanceof Error ? error : new Error(messageOf(error)), '')
      }
    }

    if (!slow.has(hostname)) ask(() => undefined)
    else if (slowQueue === undefined) {
      slowQueue = []
      ask(nextSlow)
    } else slowQueue.push(() => ask(nextSlow))
  }
}
