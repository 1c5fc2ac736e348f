import { quoted } from '../../../base/text/cut-text.ts'
import type { Clock } from '../../../base/time/clock.ts'
import { waitUntil } from '../../../base/time/wait.ts'
import { Problem } from '../../../base/problem.ts'
import type { FleetJournal } from '../../../fleet/journal/fleet-journal.ts'
import { coordinatorLease } from '../../../fleet/leases/records.ts'
import { candidatesOf } from '../../../fleet/leases/views.ts'
import type { HostState } from '../../../journal/fold/evolve.ts'
import type { Fleet } from '../../../lifecycle/facade.ts'
import type { CommandContext } from '../../../lifecycle/lifecycle.ts'
import type { FleetHost } from '../../../schema/plugin/fleet-host.ts'
import type { FleetMember } from '../membership/fleet-member.ts'
import { storeAway } from './fleet-problems.ts'
import { hostsFor, pluginCounts } from '../placement/holders.ts'

/** The hosts of the fleet, for callers: which there are, and draining one. */
export interface FleetHosts extends Pick<Fleet, 'hosts' | 'drain' | 'endDrain'> {
  /** This host ends: whoever waits for a drain is told, before their connections are closed. */
  close(): void
}

/** Milliseconds that a host may take to get rid of its plugins before the caller is told. */
const drainPatience = 120_000

type Members = NonNullable<HostState['host']['context']['members']>

export function createFleetHosts(parts: {
  member: FleetMember
  journal: FleetJournal
  clock: Clock
}): FleetHosts {
  const { member, journal, clock } = parts
  let isClosed = false
  /** Those who wait for a host to be empty. */
  const waiting = new Set<() => void>()
  const count = (id: string): number => pluginCounts(member.keeper.state).get(id) ?? 0

  function hosts(): FleetHost[] {
    const { state } = member.keeper
    const now = member.elapsed()
    const counts = pluginCounts(state)
    const { members = {} } = journal.live.host.context
    return candidatesOf(state, now)
      .flatMap(({ id }) => {
        const known = members[id]
        if (known === undefined) return []
        const { address, labels, since, version, draining } = known
        const silence = id === member.id ? 0 : now - (state.hosts.get(id)?.at ?? now)
        const seen = new Date(clock.now() - silence).toISOString()
        return [{ id, address, labels, plugins: counts.get(id) ?? 0, since, seen, version, draining }]
      })
      .sort((left, right) => (left.id < right.id ? -1 : 1))
  }

  /** Without the store nobody here knows which hosts live. */
  function requireStore(): void {
    if (!member.keeper.maySpeak()) throw storeAway()
  }

  function hostOf(id: string): FleetHost {
    const found = hosts().find((host) => host.id === id)
    if (found !== undefined) return found
    throw new Problem('host_unknown', `No live host of the fleet is called ${quoted(id)}.`)
  }

  /** `members`: as the journal knows them, with drains of which the leases have not been told yet. */
  function requireOthers(id: string, members: Members): void {
    const { state } = member.keeper
    const takes = (host: string): boolean => members[host]?.draining !== true
    for (const plugin of state.leases.keys()) {
      if (plugin === coordinatorLease || member.holderOf(plugin)?.host !== id) continue
      if (hostsFor(state, plugin, member.elapsed(), id).some(takes)) continue
      throw new Problem(
        'no_other_host',
        `No other live host may run ${plugin}; start one, or change its placement. Nothing was moved.`,
      )
    }
  }

  async function record(
    id: string,
    type: 'HostDrainRequested' | 'HostDrainEnded',
    { by, requestKey }: CommandContext,
  ): Promise<void> {
    const draining = type === 'HostDrainRequested'
    await journal.decide(
      null,
      ({ host }) => {
        const { members = {} } = host.context
        // Of hosts that are drained at the same time, the last one is refused here.
        if (draining) requireOthers(id, members)
        if ((members[id]?.draining ?? false) === draining) return []
        return [{ type, plugin: null, data: { host: id } }]
      },
      by,
      requestKey,
    )
  }

  /**
   * Resolves when the host has no plugin any more, or is gone itself. Throws `plugin_moving` when that takes too long, and
   * `invalid_transition` when somebody ends the drain, and `shutting_down` when this host is closed meanwhile.
   */
  async function whenEmpty(id: string): Promise<void> {
    const isEnded = (): boolean => journal.live.host.context.members?.[id]?.draining !== true
    const isOver = await waitUntil(
      clock,
      drainPatience,
      () => count(id) === 0 || isEnded() || isClosed,
      (listener) => {
        waiting.add(listener)
        const stops = [member.onChange(listener), journal.subscribe(listener), () => waiting.delete(listener)]
        return () => {
          for (const stop of stops) stop()
        }
      },
    )
    if (count(id) === 0) return
    if (isClosed)
      throw new Problem(
        'shutting_down',
        `This host is shutting down; the drain of ${id} goes on, and another host tells how many plugins it still has.`,
      )
    if (isOver)
      throw new Problem(
        'invalid_transition',
        `The drain of ${id} was ended meanwhile: it takes plugins again.`,
      )
    throw new Problem(
      'plugin_moving',
      `${id} is being drained and still has ${count(id)} plugins; they follow as soon as they have ended.`,
    )
  }

  return {
    hosts,
    async drain(id, command) {
      requireStore()
      const before = hostOf(id)
      await record(id, 'HostDrainRequested', command)
      await whenEmpty(id)
      return hosts().find((host) => host.id === id) ?? { ...before, plugins: 0, draining: true }
    },
    async endDrain(id, command) {
      requireStore()
      // Of one that is off, too: it may run plugins again when it is back.
      if (journal.live.host.context.members?.[id] === undefined) hostOf(id)
      await record(id, 'HostDrainEnded', command)
      const live = hosts().find((host) => host.id === id)
      const member = journal.live.host.context.members?.[id]
      if (live !== undefined || member === undefined) return live ?? hostOf(id)
      return { ...member, id, plugins: 0, seen: member.since }
    },
    close() {
      isClosed = true
      for (const look of waiting) look()
    },
  }
}
