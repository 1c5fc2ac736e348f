import type { Clock, ScheduledCall } from '../../base/clock.ts'
import { messageOf } from '../../base/problem.ts'
import type { Schedule } from '../../schema/trigger.ts'
import { createNextTime, type NextTime } from './next-time.ts'

/** What plugins do at certain times. */
export interface Schedules {
  /** Answers what is wrong with it, or undefined. `run` is called each time; not any more once it is removed. */
  add(plugin: string, number: number, schedule: Schedule, run: () => void): Promise<string | undefined>
  remove(plugin: string, number: number): void
  /** Everything of this plugin. */
  clear(plugin: string): void
  count(plugin: string): number
}

interface Entry {
  next: NextTime
  /** Milliseconds since the epoch; undefined: never. */
  due: number | undefined
  catchUp: number
  run(): void
}

/** Milliseconds for which a run that was missed is made up for, unless a plugin says otherwise. */
const defaultCatchUp = 60_000
/** Milliseconds by which a run that was not missed may be late: the host has other things to do. */
const onTime = 1_000
/** Milliseconds between two looks at the clock: while a machine sleeps its timers stand still, and its time does not. */
const longestLook = 30_000
/** Milliseconds that a clock is set back by before what is due is found out anew. */
const setBack = 2_000

export function createSchedules(clock: Clock): Schedules {
  const plugins = new Map<string, Map<number, Entry>>()
  let timer: ScheduledCall | undefined
  let lookedAt = clock.now()

  function* all(): Iterable<Entry> {
    for (const entries of plugins.values()) yield* entries.values()
  }

  function arm(): void {
    timer?.cancel()
    timer = undefined
    let first = Number.POSITIVE_INFINITY
    for (const { due } of all()) first = Math.min(first, due ?? first)
    lookedAt = clock.now()
    if (first === Number.POSITIVE_INFINITY) return
    timer = clock.schedule(Math.min(Math.max(0, first - lookedAt), longestLook), look)
  }

  function look(): void {
    const now = clock.now()
    const wasSetBack = now < lookedAt - setBack
    for (const entry of [...all()]) {
      const { due, next, catchUp } = entry
      if (due === undefined || (due > now && !wasSetBack)) continue
      if (due > now) {
        entry.due = next(now)
        continue
      }
      // Of several that were missed the last one counts.
      const last = now - due <= onTime ? due : next(now - Math.max(catchUp, onTime) - 1)
      entry.due = next(now)
      if (last !== undefined && last <= now) entry.run()
    }
    arm()
  }

  function remove(plugin: string, number: number): void {
    const entries = plugins.get(plugin)
    if (entries?.delete(number) !== true) return
    if (entries.size === 0) plugins.delete(plugin)
    arm()
  }

  return {
    async add(plugin, number, schedule, run) {
      let next: NextTime
      try {
        next = await createNextTime(schedule, clock.now())
      } catch (error) {
        return messageOf(error)
      }
      const entries = plugins.get(plugin) ?? new Map<number, Entry>()
      plugins.set(plugin, entries)
      entries.set(number, { next, run, due: next(clock.now()), catchUp: schedule.catchUp ?? defaultCatchUp })
      arm()
      return undefined
    },
    remove,
    clear(plugin) {
      if (plugins.delete(plugin)) arm()
    },
    count: (plugin) => plugins.get(plugin)?.size ?? 0,
  }
}
