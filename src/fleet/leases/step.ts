import { leaseRecordSeen, markLeaving, markThoseThatGo, phaseReached, settleHeld } from './holding.ts'
import { endWhenOver, keepSession, ownRecordSeen } from './own-session.ts'
import { fenceOf, type Seen } from './records.ts'
import type { LeaseEffect, LeaseEvent, LeaseState } from './state.ts'
import { endSilentSessions, takeFreeLeases } from './taking-over.ts'

/**
 * The protocol of leases, as docs/fleet.md tells it: a pure function. `now` is elapsed time in milliseconds on this
 * host's clock, and never goes back. Effects are to be done in their order; what comes of them are events.
 */

type Result = readonly [LeaseState, readonly LeaseEffect[]]

export function leaseStep(state: LeaseState, event: LeaseEvent, now: number): Result {
  // A process that was paused may hear of anything before it hears that its time is over.
  const [living, ended] = endWhenOver(state, now)
  const [next, effects] = handle(living, event, now)
  return [next, [...ended, ...effects]]
}

function handle(state: LeaseState, event: LeaseEvent, now: number): Result {
  switch (event.type) {
    case 'tick':
      return through(state, now, [
        keepSession,
        (before, at) => [markThoseThatGo(before, at), []],
        settleHeld,
        endSilentSessions,
        takeFreeLeases,
      ])
    case 'synced':
      return [{ ...state, isSynced: true }, []]
    case 'hostSeen': {
      const hosts = withSeen(state.hosts, event.host, event, now)
      const seen = hosts.get(event.host)
      if (hosts === state.hosts || seen === undefined) return [state, []]
      const next = { ...state, hosts }
      return event.host === state.host ? ownRecordSeen(next, seen) : [next, []]
    }
    case 'leaseSeen': {
      const leases = withSeen(state.leases, event.plugin, event, now)
      const seen = leases.get(event.plugin)
      if (leases === state.leases || seen === undefined) return [state, []]
      const [next, effects] = leaseRecordSeen({ ...state, leases }, event.plugin, seen)
      const [settled, more] = settleHeld(forgetFenced(next), now)
      return [settled, [...effects, ...more]]
    }
    case 'wantedChanged':
      return [{ ...state, wanted: event.wanted }, []]
    case 'hostsDescribed':
      return [{ ...state, descriptions: event.descriptions }, []]
    case 'brokersSeen':
      return [{ ...state, withoutBroker: event.withoutBroker, withoutBrokerSince: now }, []]
    case 'diskSeen':
      return [{ ...state, isFull: event.isFull }, []]
    case 'fenced':
      return takeFreeLeases({ ...state, fenced: new Set([...state.fenced, event.fence]) }, now)
    case 'stopped':
      return through(phaseReached(state, event, ['stopping'], { phase: 'stopped' }), now, [
        settleHeld,
        keepSession,
      ])
    case 'flushed':
      // Long ago: it is asked for at once.
      return settleHeld(
        phaseReached(state, event, ['flushing'], { phase: 'releasing', askedAt: -Infinity }),
        now,
      )
    case 'leave':
      return through({ ...state, isLeaving: true }, now, [settleHeld, keepSession])
    case 'giveBack':
      return settleHeld(markLeaving(state, event.plugin), now)
  }
}

function through(
  state: LeaseState,
  now: number,
  steps: readonly ((state: LeaseState, now: number) => Result)[],
): Result {
  let next = state
  const effects: LeaseEffect[] = []
  for (const step of steps) {
    const [after, more] = step(next, now)
    next = after
    effects.push(...more)
  }
  return [next, effects]
}

/** Only what is newer than what is known counts. The same map: nothing is. */
function withSeen<T>(
  known: ReadonlyMap<string, Seen<T>>,
  key: string,
  { record, revision }: { record: T | null; revision: number },
  at: number,
): ReadonlyMap<string, Seen<T>> {
  const before = known.get(key)
  if (before !== undefined && before.revision >= revision) return known
  return new Map(known).set(key, { record, revision, at })
}

/** What no lease needs any more need not be remembered. */
function forgetFenced(state: LeaseState): LeaseState {
  if (state.fenced.size === 0) return state
  const needed = new Set([...state.leases].map(([plugin, { record }]) => record && fenceOf(plugin, record)))
  const fenced = new Set([...state.fenced].filter((fence) => needed.has(fence)))
  return fenced.size === state.fenced.size ? state : { ...state, fenced }
}
