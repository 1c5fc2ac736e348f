import type { Clock } from '../../../base/time/clock.ts'
import type { LeaseKeeper } from '../../../fleet/leases/lease-keeper.ts'
import type { Holder } from '../../../fleet/leases/views.ts'
import type { Whereabouts } from '../../../lifecycle/ownership.ts'
import type { PluginError } from '../../../schema/plugin/plugin.ts'
import { holderOf, hostsFor, strandedOn } from './holders.ts'

/** Where each plugin of the fleet runs, and why one does not, as this host knows it. */
export interface KnownWhereabouts {
  of(plugin: string): Whereabouts
  /** Looks at these plugins again. Answers those that are absent now and were not, or for another reason, and the other way round. */
  review(plugins: Iterable<string>): string[]
  /** Those that were absent when they were last looked at. */
  absent(): string[]
  /** This host ends: from now on these have none. `isLast`: there is no other host. */
  end(plugins: Iterable<string>, isLast: boolean): void
}

/** Milliseconds that a move may take before it counts as an absence. */
const moveTime = 10_000
const nobodyIsThere =
  'No host of the fleet is there any more; it comes back by itself when one is started that may run it.'

export function createWhereabouts(
  keeper: Pick<LeaseKeeper, 'state' | 'maySpeak'>,
  clock: Clock,
  elapsed: () => number,
): KnownWhereabouts {
  const known = new Map<string, Whereabouts>()
  /** Since when nobody has it, on the monotonic clock. */
  const missing = new Map<string, number>()
  const absences = new Map<string, PluginError>()
  const ended = new Set<string>()
  const holderIn = (plugin: string): Holder | undefined =>
    ended.has(plugin) ? undefined : holderOf(keeper.state, plugin)

  function absenceOf(plugin: string): 'lease_lost' | 'no_host' | undefined {
    const { state } = keeper
    const isStranded = strandedOn(state, plugin, elapsed()) !== undefined
    if (holderIn(plugin) !== undefined && !isStranded) {
      missing.delete(plugin)
      return undefined
    }
    const since = missing.get(plugin) ?? clock.monotonic()
    missing.set(plugin, since)
    // Its store is away: nobody here knows whether there is another host.
    if (!keeper.maySpeak())
      return state.leases.get(plugin)?.record?.host === state.host ? 'lease_lost' : undefined
    if (!isStranded && hostsFor(state, plugin, elapsed()).length === 0) return 'no_host'
    // One that was told to be away stays so until a host has it.
    const isMoving = clock.monotonic() - since < moveTime && !absences.has(plugin)
    return isMoving ? undefined : 'lease_lost'
  }

  function sentenceOf(code: 'lease_lost' | 'no_host', plugin: string): string {
    const stranded = strandedOn(keeper.state, plugin, elapsed())
    if (stranded !== undefined)
      return (
        `It is to leave the host ${stranded}, which cannot reach the MQTT broker; that has to answer before another host may run it. ` +
        `See whether ${stranded} reaches the broker, or stop that host; then it comes back by itself.`
      )
    if (code === 'lease_lost')
      return 'The host that ran it has lost its lease; it comes back by itself as soon as a host can take it.'
    const { host, labels = [] } = keeper.state.wanted.get(plugin) ?? {}
    const wanted = [
      ...(host === undefined ? [] : [`the host ${host}`]),
      ...(labels.length === 0 ? [] : [`the labels ${labels.join(', ')}`]),
    ]
    return wanted.length === 0
      ? 'No host of the fleet may run it now: all of them are being drained.'
      : `No live host of the fleet is what its placement asks for (${wanted.join(', ')}); start one, or change the placement.`
  }

  return {
    of(plugin) {
      const holder = holderIn(plugin)
      const host = holder?.host ?? null
      const epoch = holder?.epoch ?? null
      const isAway = holder === undefined || strandedOn(keeper.state, plugin, elapsed()) !== undefined
      const absence = isAway ? (absences.get(plugin) ?? null) : null
      const stale = host !== keeper.state.host && !keeper.maySpeak()
      const last = known.get(plugin)
      const isSame =
        last?.host === host && last.epoch === epoch && last.absence === absence && last.stale === stale
      if (isSame) return last
      const next = { host, epoch, absence, stale }
      known.set(plugin, next)
      return next
    },
    review(plugins) {
      const changed: string[] = []
      for (const plugin of plugins) {
        const code = absenceOf(plugin)
        const absence = code && { code, message: sentenceOf(code, plugin) }
        if (absences.get(plugin)?.message === absence?.message) continue
        changed.push(plugin)
        if (absence === undefined) absences.delete(plugin)
        else absences.set(plugin, { ...absence, at: new Date(clock.now()).toISOString() })
      }
      return changed
    },
    absent: () => [...absences.keys()],
    end(plugins, isLast) {
      const at = new Date(clock.now()).toISOString()
      for (const plugin of plugins) {
        ended.add(plugin)
        const message = isLast ? nobodyIsThere : sentenceOf('no_host', plugin)
        absences.set(plugin, { code: 'no_host', message, at })
      }
    },
  }
}
