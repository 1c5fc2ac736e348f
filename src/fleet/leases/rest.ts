import { isFresh, type LeaseEvent, type LeaseState } from './state.ts'
import { freeLeases } from './taking-over.ts'

/** When nobody needs a tick: most of the time a fleet is well, and its hosts need not wake their machines to see that. */

/**
 * When a tick has something to do next, if there is no news before: the own session is renewed, or another one was silent for too long.
 * Undefined: something is under way, and may need the next tick.
 */
export function restsUntil(state: LeaseState, now: number): number | undefined {
  const { host, own, held, hosts, timing } = state
  if (own === null || own.sent.size > 0 || !isFresh(state, now)) return undefined
  if ([...held.values()].some(({ phase, isLeaving }) => phase !== 'running' || isLeaving)) return undefined
  if (freeLeases(state).length > 0) return undefined
  const silences = [...hosts].flatMap(([other, { record, at }]) =>
    other === host || record === null ? [] : at + timing.takeOverAfter,
  )
  const next = Math.min(own.lastSent + timing.renewEvery, ...silences)
  return next > now ? next : undefined
}

/** Whether a tick may have something to do because of it. What is only renewed puts off what time brings. */
export function isNews(state: LeaseState, event: LeaseEvent): boolean {
  if (event.type === 'diskSeen') return event.isFull !== state.isFull
  if (event.type !== 'hostSeen' || event.record === null) return true
  const known = state.hosts.get(event.host)?.record
  return known?.session !== event.record.session || known.isFull !== event.record.isFull
}
