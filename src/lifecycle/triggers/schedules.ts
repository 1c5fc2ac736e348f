import { getOrInsert } from '../../base/get-or-insert.ts'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { createElapsedTime, type ElapsedTime } from '../../base/time/elapsed-time.ts'
import { messageOf } from '../../base/problem.ts'
import type { Schedule } from '../../schema/outside/trigger.ts'
import { createNextTime, type NextTime } from './next-time.ts'

/** What plugins do at certain times. */
export interface Schedules {
  /**
   * Answers what is wrong with it, or undefined. `run` is called each time, and `miss` with one, in milliseconds since the
   * epoch, that is too long ago to be made up for; not any more once it is removed. `refusal` is asked when it has been read:
   * others may have been added meanwhile.
   */
  add(
    plugin: string,
    number: number,
    schedule: Schedule,
    run: () => void,
    miss?: (due: number) => void,
    refusal?: () => string | undefined,
  ): Promise<string | undefined>
  remove(plugin: string, number: number): void
  /** Everything of this plugin. */
  clear(plugin: string): void
  count(plugin: string): number
}

interface Entry {
  next: NextTime
  /** Milliseconds since the epoch; undefined: never. */
  due: number | undefined
  /** The last one that was run, in milliseconds since the epoch. */
  ran: number | undefined
  catchUp: number
  /** By a clock that does not jump, and counts while the machine sleeps. */
  addedAt: number
  run(): void
  miss(due: number): void
}

/** Milliseconds for which a run that was missed is made up for, unless a plugin says otherwise. */
const defaultCatchUp = 60_000
/** Milliseconds by which a run that was not missed may be late: the host has other things to do. */
const onTime = 1_000
/** Milliseconds between two looks at the clock: while a machine sleeps its timers stand still, and its time does not. */
const longestLook = 30_000
/** Milliseconds for which a look at what is due goes on before others are served. */
const lookSlice = 5
const never = Number.POSITIVE_INFINITY
/** Milliseconds that a clock is set back by before what is due is found out anew. */
const setBack = 2_000
/**
 * Milliseconds by which a clock that went ahead is corrected: what ran already does not run again as its time comes once
 * more. One that is set back further was wrong altogether, and what it said counts for nothing.
 */
const correction = 5 * 60_000

/** A look that has begun. */
interface Look {
  left: Iterator<Entry>
  /** The times that count for all of them: of day, and elapsed. */
  now: number
  after: number
  /** Since when the time of day is what it is now, if it went back since the last look: as far as it shows, at the soonest. */
  setBackTo: number | undefined
}

export function createSchedules(clock: Clock, elapsed: ElapsedTime = createElapsedTime()): Schedules {
  const plugins = new Map<string, Map<number, Entry>>()
  let timer: ScheduledCall | undefined
  /** When the timer looks, in milliseconds since the epoch; `never` without one. */
  let armedFor = never
  let lookedAt = clock.now()
  let lookedAfter = elapsed()
  let look: Look | undefined

  // Whoever is removed while a look goes on is not met any more.
  function* all(): Generator<Entry, undefined> {
    for (const entries of plugins.values()) yield* entries.values()
    return undefined
  }

  function arm(due: number): void {
    timer?.cancel()
    timer = undefined
    armedFor = due
    if (due === never) return
    timer = clock.schedule(Math.min(Math.max(0, due - clock.now()), longestLook), lookForSlice)
  }

  // To find out the next time takes a while, and a thousand may be due in the same minute: others are served in between.
  function lookForSlice(): void {
    const now = clock.now()
    look ??= startLook(now)
    const end = clock.monotonic() + lookSlice
    for (let next = look.left.next(); next.done !== true; next = look.left.next()) {
      if (!take(next.value, look) || clock.monotonic() < end) continue
      arm(now)
      return
    }
    look = undefined
    lookedAt = clock.now()
    lookedAfter = elapsed()
    let first = never
    for (const { due } of all()) first = Math.min(first, due ?? never)
    arm(first)
  }

  function startLook(now: number): Look {
    const after = elapsed()
    const setBackTo = now < lookedAt - setBack ? now - (after - lookedAfter) : undefined
    return { left: all(), now, after, setBackTo }
  }

  /** Answers whether there was something to do. */
  function take(entry: Entry, { now, after, setBackTo }: Look): boolean {
    const { ran, next, catchUp } = entry
    const waited = after - entry.addedAt
    if (setBackTo !== undefined && (entry.due ?? never) > now) {
      // What was due before is so by a clock that was wrong.
      const isCorrected = ran !== undefined && ran > now && ran <= now + correction
      entry.due = next(isCorrected ? ran : Math.max(setBackTo, now - waited))
    } else if ((entry.due ?? never) > now) return false
    const { due } = entry
    if (due === undefined || due > now) return true
    // Of several that were missed one is made up for. None is older than `due`, however long a plugin wants that to be done;
    // and none is of a time before the plugin waited for it, though a clock that is set for the first time jumps over it.
    const missedFor = Math.min(Math.max(catchUp, onTime), waited + onTime)
    const last = now - due <= onTime ? due : next(Math.max(due, now - missedFor) - 1)
    entry.due = next(now)
    if (last !== undefined && last <= now) {
      entry.ran = last
      entry.run()
    } else if (due >= now - waited) entry.miss(due)
    return true
  }

  function disarmIfEmpty(): void {
    if (plugins.size > 0) return
    look = undefined
    arm(never)
  }

  return {
    async add(plugin, number, schedule, run, miss = () => undefined, refusal = () => undefined) {
      let next: NextTime
      try {
        next = await createNextTime(schedule, clock.now())
      } catch (error) {
        return messageOf(error)
      }
      const refused = refusal()
      if (refused !== undefined) return refused
      const entries = getOrInsert(plugins, plugin, () => new Map())
      const due = next(clock.now())
      const { catchUp = defaultCatchUp } = schedule
      entries.set(number, { next, run, miss, due, ran: undefined, catchUp, addedAt: elapsed() })
      lookedAt = Math.max(lookedAt, clock.now())
      if (due !== undefined && due < armedFor) arm(due)
      return undefined
    },
    remove(plugin, number) {
      const entries = plugins.get(plugin)
      if (entries?.delete(number) !== true) return
      if (entries.size === 0) plugins.delete(plugin)
      disarmIfEmpty()
    },
    clear(plugin) {
      plugins.get(plugin)?.clear()
      if (plugins.delete(plugin)) disarmIfEmpty()
    },
    count: (plugin) => plugins.get(plugin)?.size ?? 0,
  }
}
