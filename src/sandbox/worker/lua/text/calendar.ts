/** Points in time as calendar fields and text, as C's library has them. Pure but for the local time zone. */
import { lazily } from '../../../../base/lazily.ts'

export interface LocalTime {
  year: number
  month: number
  day: number
  hour: number
  min: number
  sec: number
  isdst: boolean | undefined
}

export interface CalendarFields extends LocalTime {
  /** 1 is Sunday. */
  wday: number
  /** 1 is the first of January. */
  yday: number
  isdst: boolean
}

const millisecondsPerDay = 86_400_000
const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const monthNames = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
]

/** Minutes that the zone lies behind UTC in winter, the larger of the two offsets of a year, and in summer. */
function offsetsOf(year: number): { winter: number; summer: number } {
  const january = new Date(year, 0, 1).getTimezoneOffset()
  const july = new Date(year, 6, 1).getTimezoneOffset()
  return { winter: Math.max(january, july), summer: Math.min(january, july) }
}

/** `undefined` when the time lies outside what a date can say. */
export function calendarFields(seconds: number, universal: boolean): CalendarFields | undefined {
  const moment = new Date(seconds * 1000)
  if (Number.isNaN(moment.getTime())) return undefined
  // Minutes are enough: no zone has seconds in its offset since 1972.
  const offset = universal ? 0 : moment.getTimezoneOffset()
  const shifted = new Date(moment.getTime() - offset * 60_000)
  if (Number.isNaN(shifted.getTime())) return undefined
  const year = shifted.getUTCFullYear()
  return {
    year,
    month: shifted.getUTCMonth() + 1,
    day: shifted.getUTCDate(),
    hour: shifted.getUTCHours(),
    min: shifted.getUTCMinutes(),
    sec: shifted.getUTCSeconds(),
    wday: shifted.getUTCDay() + 1,
    yday: dayOfYear(shifted) + 1,
    isdst: !universal && offset < offsetsOf(year).winter,
  }
}

function dayOfYear(date: Date): number {
  const start = new Date(0)
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1)
  return Math.floor((date.getTime() - start.getTime()) / millisecondsPerDay)
}

/** Seconds since the epoch of a local time; fields may lie outside their range. */
export function timeOf(local: LocalTime): number | undefined {
  const date = new Date(2000, 0, 1)
  date.setFullYear(local.year, local.month - 1, local.day)
  date.setHours(local.hour, local.min, local.sec, 0)
  if (Number.isNaN(date.getTime())) return undefined
  const { winter, summer } = offsetsOf(date.getFullYear())
  const saving = winter - date.getTimezoneOffset()
  const seconds = date.getTime() / 1000
  // An hour where there is no summer time, as in C.
  if (local.isdst === true && saving <= 0) return seconds - (winter - summer || 60) * 60
  if (local.isdst === false && saving > 0) return seconds + saving * 60
  return seconds
}

const pad = (value: number, width = 2, fill = '0'): string =>
  value < 0 ? `-${String(-value).padStart(width - 1, fill)}` : String(value).padStart(width, fill)

/** Week of the year when weeks begin on `first` (0 is Sunday); days before the first such day are week 0. */
const weekOfYear = (fields: CalendarFields, first: number): number =>
  Math.floor((fields.yday + 6 - ((fields.wday - 1 - first + 7) % 7)) / 7)

/** ISO 8601: the week belongs to the year that has its Thursday. */
function isoWeek(fields: CalendarFields): { year: number; week: number } {
  const weekday = (fields.wday + 5) % 7
  const thursday = new Date(0)
  thursday.setUTCFullYear(fields.year, fields.month - 1, fields.day - weekday + 3)
  return { year: thursday.getUTCFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 }
}

function zoneOffset(seconds: number, universal: boolean): string {
  const offset = universal ? 0 : -new Date(seconds * 1000).getTimezoneOffset()
  const size = Math.abs(offset)
  return `${offset < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}${pad(size % 60)}`
}

function zoneName(seconds: number, universal: boolean): string {
  if (universal) return 'UTC'
  const names = zoneLocales.map((locale) => {
    const parts = new Intl.DateTimeFormat(locale, { timeZoneName: 'short' }).formatToParts(seconds * 1000)
    return parts.find((part) => part.type === 'timeZoneName')?.value ?? ''
  })
  return names.find((name) => !/\d/.test(name)) ?? names[0] ?? ''
}

/** Each knows the abbreviations of its own part of the world, and calls the others `GMT+1`. */
const zoneLocales = ['en-US', 'en-GB', 'en-AU', 'en-IN', 'en-ZA']

/** What is to be written of a point in time. */
export interface DateFormat {
  format: string
  /** In UTC. */
  universal: boolean
  /** Whole ones since the epoch. */
  seconds: number
  fields: CalendarFields
}

/** Reads a format of `os.date`, in which a `!` in front asks for UTC. `undefined` as of `calendarFields`. */
export function readDateFormat(given: string, moment: number): DateFormat | undefined {
  const universal = given.startsWith('!')
  const seconds = Math.floor(moment)
  const fields = calendarFields(seconds, universal)
  return fields && { format: universal ? given.slice(1) : given, universal, seconds, fields }
}

/** `strftime` in the C locale. `refuse` is told of a letter that means nothing. */
export function formatDate(wanted: DateFormat, refuse: (letter: string) => never): string {
  const { format, universal, seconds, fields } = wanted
  const again = (inner: string): string => formatDate({ ...wanted, format: inner }, refuse)
  const zone = lazily(() => zoneName(seconds, universal))
  const day = dayNames[fields.wday - 1] ?? ''
  const month = monthNames[fields.month - 1] ?? ''
  const hourOfHalf = fields.hour % 12 === 0 ? 12 : fields.hour % 12
  const half = fields.hour < 12 ? 'AM' : 'PM'
  const conversions: Record<string, () => string> = {
    a: () => day.slice(0, 3),
    A: () => day,
    b: () => month.slice(0, 3),
    B: () => month,
    c: () => again('%a %b %e %H:%M:%S %Y'),
    C: () => pad(Math.floor(fields.year / 100)),
    d: () => pad(fields.day),
    D: () => again('%m/%d/%y'),
    e: () => pad(fields.day, 2, ' '),
    F: () => again('%Y-%m-%d'),
    g: () => pad(isoWeek(fields).year % 100),
    G: () => String(isoWeek(fields).year),
    h: () => month.slice(0, 3),
    H: () => pad(fields.hour),
    I: () => pad(hourOfHalf),
    j: () => pad(fields.yday, 3),
    k: () => pad(fields.hour, 2, ' '),
    l: () => pad(hourOfHalf, 2, ' '),
    m: () => pad(fields.month),
    M: () => pad(fields.min),
    n: () => '\n',
    p: () => half,
    P: () => half.toLowerCase(),
    r: () => again('%I:%M:%S %p'),
    R: () => again('%H:%M'),
    s: () => String(seconds),
    S: () => pad(fields.sec),
    t: () => '\t',
    T: () => again('%H:%M:%S'),
    u: () => String(fields.wday === 1 ? 7 : fields.wday - 1),
    U: () => pad(weekOfYear(fields, 0)),
    V: () => pad(isoWeek(fields).week),
    w: () => String(fields.wday - 1),
    W: () => pad(weekOfYear(fields, 1)),
    x: () => again('%m/%d/%y'),
    X: () => again('%H:%M:%S'),
    y: () => pad(((fields.year % 100) + 100) % 100),
    Y: () => String(fields.year),
    z: () => zoneOffset(seconds, universal),
    Z: zone,
    '%': () => '%',
  }
  // `E` and `O` ask for another calendar or other digits, which the C locale does not have.
  return format.replace(/%([EO]?)([\s\S]?)/g, (_whole, modifier: string, letter: string) => {
    const known = Object.hasOwn(conversions, letter) ? conversions[letter] : undefined
    return known === undefined ? refuse(modifier + letter) : known()
  })
}
