import { lazyImport } from '../../base/lazy-import.ts'
import { memoize } from '../../base/memoize.ts'
import type { Schedule } from '../../schema/outside/trigger.ts'
import { sunTimes } from './sun-times.ts'
import { createWallClock, type WallClock } from './wall-clock.ts'

/** Milliseconds since the epoch of the first time after this one; undefined: there is none. */
export type NextTime = (after: number) => number | undefined

const second = 1_000
const minute = 60 * second
const day = 24 * 60 * minute
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
/** Of the months, in a leap year. */
const monthDays = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
/** Days in which the sun rises somewhere else than at the poles, and every day of the week comes. */
const daysAhead = 400
/** Wall times that fall into the second pass of an hour when summer time ends, one a minute, with room to spare. */
const mostSkipped = 24 * 60

/** Reads a schedule. Throws `Error` with what is wrong, also when there is no next time after `now`. */
export async function createNextTime(schedule: Schedule, now: number): Promise<NextTime> {
  const clock = createWallClock(schedule.timezone)
  const next =
    schedule.kind === 'cron' ? await cronTimes(schedule.expression, clock) : atTimes(schedule, clock)
  if (next(now) === undefined) throw new Error('it has no next time')
  return next
}

/** The first time on the wall after this one, in ms. */
type CronPattern = (wall: number) => number | undefined

/**
 * Patterns that are kept, for all plugins together: the library has a list of ten thousand years in each, 80 kB, and a plugin may
 * have a thousand schedules. Of the others the text is kept, from which they are read again.
 */
const keptPatterns = 50

const readPatterns = lazyImport(() =>
  import('croner').then(({ Cron }) =>
    memoize((expression: string): CronPattern => {
      // The times on the wall, one after the other; the clock says when they are.
      const cron = new Cron(expression, { paused: true, timezone: 'UTC', mode: '5-part' })
      // Those that have the same pattern ask for the same time, one after the other.
      let asked: number | undefined
      let found: number | undefined
      return (wall) => {
        if (wall !== asked) found = cron.nextRun(new Date(wall))?.getTime()
        asked = wall
        return found
      }
    }, keptPatterns),
  ),
)

/** The names that each of the five fields may have besides numbers. */
const fieldNames: readonly (readonly string[])[] = [[], [], [], monthNames, dayNames]

/** Five fields as every cron has them, and no more than that. */
async function cronTimes(expression: string, clock: WallClock): Promise<NextTime> {
  const fields = expression.trim().toLowerCase().split(/\s+/)
  const [, , days = '', months = '', weekdays = ''] = fields
  const isCron = (text: string, index: number): boolean =>
    /^[\d*,/a-z-]+$/.test(text) &&
    (text.match(/[a-z]+/g) ?? []).every((name) => fieldNames[index]?.includes(name))
  if (fields.length !== fieldNames.length || !fields.every(isCron))
    throw new Error(
      `'${expression}' is no cron expression: five fields of * , - / and numbers, such as */5 * * * *`,
    )
  const pattern = fields.join(' ')
  const patternOf = await readPatterns()
  try {
    patternOf(pattern)
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
    throw new Error(`'${expression}' is no cron expression: ${reason}`)
  }
  // Found out at once: to look for it through all years takes long.
  if (weekdays === '*' && !hasDate(days, months)) return () => undefined
  return (after) => {
    const nextOnWall = patternOf(pattern)
    let wall = clock.at(after)
    for (let skipped = 0; skipped < mostSkipped; skipped += 1) {
      const found = nextOnWall(wall)
      if (found === undefined) return undefined
      wall = found
      const instant = clock.instantOf(wall)
      if (instant > after) return instant
    }
    return undefined
  }
}

/** Whether one of the days is in one of the months. Both have been read before. */
function hasDate(days: string, months: string): boolean {
  const earliest = Math.min(...valuesOf(days, 31, []))
  return valuesOf(months, 12, monthNames).some((month) => earliest <= (monthDays[month - 1] ?? 0))
}

/** Of a field whose values begin with 1. */
function valuesOf(text: string, most: number, names: readonly string[]): number[] {
  const number = (value: string): number => {
    const name = names.indexOf(value)
    return name < 0 ? Number(value) : name + 1
  }
  return text.split(',').flatMap((part) => {
    const [range = '', step] = part.split('/')
    const [from = '', to] = range.split('-')
    const first = from === '*' ? 1 : number(from)
    const last = to !== undefined ? number(to) : from === '*' ? most : first
    const by = Number(step ?? 1)
    return Array.from({ length: Math.floor((last - first) / by) + 1 }, (_, index) => first + index * by)
  })
}

type At = Extract<Schedule, { kind: 'at' }>
const timeOfDay = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/
const sunTime = /^(sunrise|sunset)(?:([+-])(\d{1,2}):(\d{2}))?$/

function atTimes(schedule: At, clock: WallClock): NextTime {
  const days = readDays(schedule.days)
  const onDay = readTime(schedule, clock)
  return (after) => {
    const today = Math.floor(clock.at(after) / day) * day
    // The sun may set after midnight, and what is a day behind that belongs to the day before yesterday.
    for (let ahead = -2; ahead <= daysAhead; ahead += 1) {
      const date = today + ahead * day
      if (!days.has(new Date(date).getUTCDay())) continue
      const instant = onDay(date)
      if (instant !== undefined && instant > after) return instant
    }
    return undefined
  }
}

function readDays(days: readonly string[] | undefined): Set<number> {
  if (days === undefined) return new Set(dayNames.keys())
  const numbers = days.map((name) => dayNames.indexOf(name.toLowerCase() as (typeof dayNames)[number]))
  const wrong = days.find((_, index) => numbers[index] === -1)
  if (wrong !== undefined) throw new Error(`'${wrong}' is no day: there are mon tue wed thu fri sat sun`)
  return new Set(numbers)
}

/** When it is on a day, whose midnight on the wall is given. */
function readTime({ time, latitude, longitude }: At, clock: WallClock): (date: number) => number | undefined {
  const text = time.trim().toLowerCase()
  const [, hours, minutes, seconds = '0'] = timeOfDay.exec(text) ?? []
  if (Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) < 60) {
    const wall = (Number(hours) * 60 + Number(minutes)) * minute + Number(seconds) * second
    return (date) => clock.instantOf(date + wall)
  }
  const [, event, sign, offsetHours = '0', offsetMinutes = '0'] = sunTime.exec(text) ?? []
  if (event === undefined || Number(offsetHours) > 23 || Number(offsetMinutes) > 59)
    throw new Error(`'${time}' is no time: expected 07:30, sunrise, sunset+00:30 or the like`)
  if (
    latitude === undefined ||
    longitude === undefined ||
    Math.abs(latitude) > 90 ||
    Math.abs(longitude) > 180
  )
    throw new Error(`${event} needs latitude (-90 to 90) and longitude (-180 to 180) in degrees`)
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * minute * (sign === '-' ? -1 : 1)
  return (date) => {
    const times = sunTimes(clock.instantOf(date + day / 2), latitude, longitude)
    return times && (event === 'sunrise' ? times.sunrise : times.sunset) + offset
  }
}
