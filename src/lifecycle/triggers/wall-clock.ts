import { memoize } from '../../base/memoize.ts'

/** Milliseconds. */
const minute = 60_000
const day = 24 * 60 * minute

/** The clock on the wall in one time zone. Wall times are milliseconds as if they were in UTC. */
export interface WallClock {
  /** What it shows at an instant. */
  at(instant: number): number
  /**
   * When it shows this: of two instants the first, as when summer time ends; where it never does, the one at which it
   * jumps over it.
   */
  instantOf(wall: number): number
}

/** Each has 30 kB outside the heap; of more zones than these they are made anew when they are asked. */
const keptFormatters = 100
const formatter = memoize(
  (timeZone) =>
    new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }),
  keptFormatters,
)

/** Milliseconds by which the wall is ahead of UTC at an instant. */
type Offset = (instant: number) => number

/**
 * That of the host's process: as `os.date` has it. Node may have no name for it that it takes itself, such as with an
 * empty `TZ`, or with `TZ=:/etc/localtime`.
 */
const ownOffset: Offset = (instant) => -new Date(instant).getTimezoneOffset() * minute

/** Throws `Error` when there is no such zone. */
function offsetIn(timeZone: string): Offset {
  // Capital letters make no difference, and no other zone.
  const zone = timeZone.toLowerCase()
  try {
    formatter(zone)
  } catch {
    throw new Error(`there is no time zone '${timeZone}'; they are called as in Europe/Berlin`)
  }
  return (instant) => {
    const shown = new Map(
      formatter(zone)
        .formatToParts(instant)
        .map(({ type, value }) => [type as string, Number(value)]),
    )
    const part = (name: string): number => shown.get(name) ?? 0
    const wall = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    )
    return wall - Math.floor(instant / 1000) * 1000
  }
}

/** Without a zone that of the host. Throws `Error` when there is no such zone. */
export function createWallClock(timeZone?: string): WallClock {
  const offset = timeZone === undefined ? ownOffset : offsetIn(timeZone)

  /** The first instant with another offset than at `from`, to the minute. */
  function changeBetween(from: number, to: number): number {
    const before = offset(from)
    let [low, high] = [Math.floor(from / minute), Math.ceil(to / minute)]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (offset(middle * minute) === before) low = middle
      else high = middle
    }
    return high * minute
  }

  return {
    at: (instant) => instant + offset(instant),
    instantOf(wall) {
      // Where both are right the clock has been put back, so that the first one is by the offset of before.
      const instants = [wall - offset(wall - day), wall - offset(wall + day)]
      const found = instants.find((instant) => instant + offset(instant) === wall)
      return found ?? changeBetween(wall - day, wall + day)
    },
  }
}
