import type { Scheduler } from './scheduler.ts'

/** Somebody outside who sees each act of a plugin as it arrives. */

export interface Act {
  plugin: string
  epoch: number
  session: string
  by: 'mqtt' | 'http'
  /** The process was paused, or ended, after the act was checked and before it was written. */
  wasPaused: boolean
}

export interface Witness {
  /** Breaches of the law, a sentence each. */
  readonly breaches: string[]
  readonly acts: number
  /** Writes over HTTP that had begun when their machine was paused, and came after somebody else's. */
  readonly lateWrites: number
  /** Longest time that a plugin was not seen to act, in milliseconds, since `since`. */
  longestSilence(plugin: string, since: number): number
  see(act: Act): void
  breach(sentence: string): void
}

export function createWitness(scheduler: Scheduler): Witness {
  const breaches: string[] = []
  const highest = new Map<string, number>()
  const owners = new Map<string, string>()
  const times = new Map<string, number[]>()
  let acts = 0
  let lateWrites = 0
  const breach = (sentence: string): void => {
    if (breaches.length < 5) breaches.push(`at ${Math.round(scheduler.now)} ms: ${sentence}`)
  }
  return {
    breaches,
    get acts() {
      return acts
    },
    get lateWrites() {
      return lateWrites
    },
    longestSilence(plugin, since) {
      const seen = [since, ...(times.get(plugin) ?? []).filter((at) => at > since), scheduler.now]
      return Math.max(...seen.slice(1).map((at, index) => at - (seen[index] ?? at)))
    },
    see({ plugin, epoch, session, by, wasPaused }) {
      acts += 1
      const seen = times.get(plugin) ?? []
      seen.push(scheduler.now)
      times.set(plugin, seen)
      const owner = owners.get(`${plugin} ${epoch}`) ?? session
      owners.set(`${plugin} ${epoch}`, owner)
      if (owner !== session) breach(`${session} and ${owner} both act as ${plugin} under epoch ${epoch}`)
      const known = highest.get(plugin) ?? 0
      if (epoch >= known) {
        highest.set(plugin, epoch)
      } else if (by === 'http' && wasPaused) {
        lateWrites += 1
      } else {
        breach(`${session} acts as ${plugin} by ${by} under epoch ${epoch}, after epoch ${known}`)
      }
    },
    breach,
  }
}
