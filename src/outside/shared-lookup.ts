import { isIP, type LookupFunction } from 'node:net'
import { evictOldest } from '../base/evict-oldest.ts'
import { messageOf } from '../base/problem.ts'
import { systemClock } from '../base/time/clock.ts'

/** Names that the system looks up at a time: half of the threads that Node has. */
const lookupsLimit = 2
/** Milliseconds within which a name server that is there has answered. */
const quickTime = 1_000
/** Names that are remembered as quick. */
const quickNamesLimit = 10_000

type Callback = Parameters<LookupFunction>[2]

interface Question {
  hostname: string
  ask(done: () => void): void
}

/**
 * Looks each name up once at a time, however many ask for it meanwhile. The system looks up two at once, cannot be stopped, and
 * takes many seconds for a name whose name server is silent. A few of those must not have the names of all others time out,
 * this machine's and the broker's among them: names that were answered quickly the last time go first, and while look-ups are
 * slow all others go one by one. `now`: in milliseconds.
 */
export function createSharedLookup(
  lookup: LookupFunction,
  now: () => number = systemClock.monotonic,
): LookupFunction {
  const waiting = new Map<string, Callback[]>()
  const quickNames = new Set<string>()
  const isQuick = ({ hostname }: Question): boolean => quickNames.has(hostname)
  const queue: Question[] = []
  let running = 0
  /** How many of those may turn out slow. */
  let doubtful = 0
  /** Whether the last one of those did. */
  let isSlow = false

  function noteTime(hostname: string, milliseconds: number, wasQuick: boolean): void {
    const isQuickNow = milliseconds < quickTime
    quickNames.delete(hostname)
    if (isQuickNow) quickNames.add(hostname)
    evictOldest(quickNames, quickNamesLimit)
    if (!wasQuick || !isQuickNow) isSlow = !isQuickNow
  }

  function startNext(): void {
    while (running < lookupsLimit) {
      const quick = queue.findIndex(isQuick)
      const index = quick === -1 && (doubtful === 0 || !isSlow) ? 0 : quick
      const [question] = index === -1 ? [] : queue.splice(index, 1)
      if (question === undefined) return
      start(question)
    }
  }

  function start(question: Question): void {
    const since = now()
    const wasQuick = isQuick(question)
    running += 1
    if (!wasQuick) doubtful += 1
    question.ask(() => {
      running -= 1
      if (!wasQuick) doubtful -= 1
      noteTime(question.hostname, now() - since, wasQuick)
      startNext()
    })
  }

  return (hostname, options, callback) => {
    // Sockets for datagrams have addresses looked up, too: nobody has to be asked for those.
    if (isIP(hostname) !== 0) {
      lookup(hostname, options, callback)
      return
    }
    const { family = 0, hints = 0, all = false, verbatim, order } = options
    const key = JSON.stringify([hostname, family, hints, all, verbatim, order])
    const others = waiting.get(key)
    if (others !== undefined) {
      others.push(callback)
      return
    }
    const callbacks = [callback]
    waiting.set(key, callbacks)
    queue.push({
      hostname,
      ask(done) {
        const answer: Callback = (...found) => {
          waiting.delete(key)
          done()
          for (const tell of callbacks) tell(...found)
        }
        try {
          lookup(hostname, options, answer)
        } catch (error) {
          // It will never be answered: nobody is to wait for it.
          answer(error instanceof Error ? error : new Error(messageOf(error)), '')
        }
      },
    })
    startNext()
  }
}
