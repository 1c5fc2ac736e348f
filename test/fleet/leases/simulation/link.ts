import type { Scheduler } from './scheduler.ts'

/** The way between a host and a server: what is sent over it may come late, twice, in another order, or not at all. */
export interface Link {
  isUp: boolean
  /** Delivers at once, later, more than once, or never. */
  send(deliver: () => void): void
}

/** How bad the network is, from 0 to 1. */
export interface Weather {
  loss: number
  duplication: number
  /** Part of the messages that are very late. */
  lateness: number
}

export const fairWeather: Weather = { loss: 0, duplication: 0, lateness: 0 }

/** Milliseconds that a message takes that is in time, and one that is late. */
const usual = [0.2, 8] as const
const late = [50, 3_000] as const

export function createLink(scheduler: Scheduler, weather: () => Weather): Link {
  const link: Link = {
    isUp: true,
    send(deliver) {
      if (!link.isUp) return
      const { loss, duplication, lateness } = weather()
      if (scheduler.chance(loss)) return
      const copies = scheduler.chance(duplication) ? 2 : 1
      for (let copy = 0; copy < copies; copy += 1) {
        const [low, high] = scheduler.chance(lateness) ? late : usual
        // Cut off while it was under way: lost as well.
        scheduler.after(scheduler.between(low, high), () => {
          if (link.isUp) deliver()
        })
      }
    },
  }
  return link
}
