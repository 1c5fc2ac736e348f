import { type Candidate, chooseHosts, isEligible, type Placement } from './placement.ts'
import { fenceOf } from './records.ts'
import { isFresh, type LeaseEffect, type LeaseState } from './state.ts'
import { candidatesOf, groupsOf, homesOf, leaseHolder } from './views.ts'

/** Sessions of others that are over, and plugins that nobody runs. */

type Result = readonly [LeaseState, readonly LeaseEffect[]]

/** Ends sessions that were not renewed for so long that their hosts have stopped everything. */
export function endSilentSessions(state: LeaseState, now: number): Result {
  if (!isFresh(state, now)) return [state, []]
  const asking = createAsking(state, now)
  const effects: LeaseEffect[] = []
  for (const [host, { record, revision, at }] of state.hosts) {
    if (host === state.host || record === null || now - at < state.timing.takeOverAfter) continue
    if (asking.again(`end ${host}`))
      effects.push({ type: 'writeHost', host, record: null, expected: revision })
  }
  return [asking.state(), effects]
}

/**
 * Takes the plugins that fall to this host. The connection of the session that had one is cut before the epoch is
 * raised: whoever sees a lease move on from a session knows that nothing comes over that session's connection any more.
 */
export function takeFreeLeases(state: LeaseState, now: number): Result {
  if (!isFresh(state, now) || state.own === null) return [state, []]
  const free = freeLeases(state)
  if (free.length === 0) return [state, []]
  const candidates = candidatesOf(state, now)
  const chosen = chooseHosts(free, candidates, { homes: homesOf(state, candidates), groups: groupsOf(state) })
  const asking = createAsking(state, now)
  const effects: LeaseEffect[] = []
  const own = candidates.find(
    ({ id, withoutBroker, isFull }) => id === state.host && !withoutBroker && !isFull,
  )
  for (const [plugin, chosenHost] of chosen) {
    const { host } = state
    if (chosenHost !== host && (own === undefined || !isLeftOver(state, plugin, own, now))) continue
    const seen = state.leases.get(plugin)
    const { host: before = null, session = null, epoch = 0 } = seen?.record ?? {}
    const fence = seen?.record ? fenceOf(plugin, seen.record) : undefined
    // What comes over the own connection comes in order.
    const isDue = fence !== undefined && session !== state.own.session && !state.fenced.has(fence)
    if (isDue && before !== null && session !== null) {
      if (asking.again(`fence ${fence}`)) effects.push({ type: 'fence', host: before, session, fence })
    } else if (asking.again(`take ${plugin}`)) {
      const last = Math.max(epoch, state.wanted.get(plugin)?.after ?? 0)
      const record = { host, session: state.own.session, epoch: last + 1 }
      effects.push({ type: 'writeLease', plugin, record, expected: seen?.revision ?? 0 })
    }
  }
  return [asking.state(), effects]
}

/**
 * Whether a plugin that was given back without an answer of the broker waits in vain for the host that it falls to, and this one may
 * run it: hosts of older versions take it for one that is held.
 */
function isLeftOver(state: LeaseState, plugin: string, own: Candidate, now: number): boolean {
  const seen = state.leases.get(plugin)
  const placement = state.wanted.get(plugin)
  if (seen?.record?.released !== true || placement === undefined || !isEligible(placement, own)) return false
  return now - seen.at >= state.timing.takeOverAfter
}

/** Plugins that are to run and that nobody has, in the order that all hosts go by. */
export function freeLeases(state: LeaseState): (readonly [string, Placement])[] {
  return [...state.wanted]
    .filter(([plugin]) => leaseHolder(state, plugin) === undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))
}

/** Asks for the same thing once, and again when nothing has come of it. */
function createAsking(state: LeaseState, now: number) {
  const recent = [...state.asked].filter(([, at]) => now - at < state.timing.retryAfter)
  const asked = new Map(recent)
  return {
    again(what: string): boolean {
      if (asked.has(what)) return false
      asked.set(what, now)
      return true
    },
    state: (): LeaseState => ({ ...state, asked }),
  }
}
