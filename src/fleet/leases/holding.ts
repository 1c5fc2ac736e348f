import { type Candidate, isEligible } from './placement.ts'
import type { LeaseRecord, Seen } from './records.ts'
import { endOfSession, type Held, isFresh, type LeaseEffect, type LeaseState } from './state.ts'
import { candidatesOf, homesOf } from './views.ts'

/** Leases that the own session has: their plugins run, unload, and go. */

type Result = readonly [LeaseState, readonly LeaseEffect[]]

/** Takes in a new record of a plugin's lease. */
export function leaseRecordSeen(
  state: LeaseState,
  plugin: string,
  { record, revision }: Seen<LeaseRecord>,
): Result {
  const held = state.held.get(plugin)
  const isOwn =
    record !== null && record.session !== null && !record.released && record.session === state.own?.session
  if (isOwn) {
    // It is started when the session is seen to be fresh, which may be now.
    const known: Held =
      held?.epoch === record.epoch
        ? { ...held, revision }
        : { epoch: record.epoch, revision, phase: 'stopped', isLeaving: false, askedAt: 0 }
    return [withHeld(state, plugin, known), killOther(plugin, held, record.epoch)]
  }
  return [withHeld(state, plugin, undefined), killOther(plugin, held, undefined)]
}

/** Nobody takes a lease of a session that lives; if it seems so all the same, the plugin must not go on. */
function killOther(
  plugin: string,
  held: Held | undefined,
  epoch: number | undefined,
): readonly LeaseEffect[] {
  if (held === undefined || held.epoch === epoch || held.phase === 'releasing') return []
  return [{ type: 'kill', plugin, epoch: held.epoch }]
}

function withHeld(state: LeaseState, plugin: string, next: Held | undefined): LeaseState {
  if (next === undefined && !state.held.has(plugin)) return state
  const held = new Map(state.held)
  if (next === undefined) held.delete(plugin)
  else held.set(plugin, next)
  return { ...state, held }
}

/** Changes the phase of a lease, when it is the one that is meant. */
export function phaseReached(
  state: LeaseState,
  { plugin, epoch }: { plugin: string; epoch: number },
  from: readonly Held['phase'][],
  change: Partial<Held>,
): LeaseState {
  const held = state.held.get(plugin)
  if (held?.epoch !== epoch || !from.includes(held.phase)) return state
  return withHeld(state, plugin, { ...held, ...change })
}

export function markLeaving(state: LeaseState, plugin: string): LeaseState {
  const held = state.held.get(plugin)
  return held === undefined ? state : withHeld(state, plugin, { ...held, isLeaving: true })
}

/** Lets go of plugins that are not wanted, or that this host may not run while another may. */
export function markThoseThatGo(state: LeaseState, now: number): LeaseState {
  const { host, wanted } = state
  let candidates: ReturnType<typeof candidatesOf> | undefined
  let homes: ReturnType<typeof homesOf> | undefined
  let next = state
  for (const [plugin, { isLeaving }] of state.held) {
    if (isLeaving) continue
    const placement = wanted.get(plugin)
    if (placement !== undefined) {
      candidates ??= candidatesOf(state, now)
      const own = candidates.find(({ id }) => id === host)
      if (own === undefined) continue
      if (placement.together !== undefined) homes ??= homesOf(state, candidates)
      const home = candidates.find(({ id }) => id === homes?.get(placement.together ?? ''))
      const belongsElsewhere = home !== undefined && home.id !== host && isEligible(placement, home)
      if (isEligible(placement, own) && !belongsElsewhere) continue
      // One that is being drained goes on until another may take the plugin; one that may not run it does not.
      const mayStay = isEligible(placement, { ...own, draining: false })
      if (mayStay && !candidates.some((other) => isEligible(placement, other))) continue
    }
    next = markLeaving(next, plugin)
  }
  return next
}

/** Other hosts that live and have the broker, as far as is known. */
export function othersWithBroker(state: LeaseState, now: number): Candidate[] {
  return candidatesOf(state, now).filter((other) => other.id !== state.host && !other.withoutBroker)
}

/**
 * Whether a plugin that goes waits for a broker that this host has long not reached, while another host has it and may run the
 * plugin. What was sent last may still be on its way, so whoever takes it has the broker close this host's connection first.
 */
function waitsInVain(state: LeaseState, plugin: string, now: number): boolean {
  const { withoutBroker, withoutBrokerSince, timing } = state
  if (!withoutBroker.has(state.host) || now - withoutBrokerSince < timing.giveUpAfter) return false
  const placement = state.wanted.get(plugin)
  return placement !== undefined && othersWithBroker(state, now).some((other) => isEligible(placement, other))
}

/** What is next for each lease. */
export function settleHeld(state: LeaseState, now: number): Result {
  const until = endOfSession(state)
  if (until === undefined) return [state, []]
  let next = state
  const effects: LeaseEffect[] = []
  for (const [plugin, held] of state.held) {
    const [change, effect] = nextOf(state, plugin, held, now, until)
    if (effect === undefined) continue
    next = withHeld(next, plugin, { ...held, ...change })
    effects.push(effect)
  }
  return [next, effects]
}

function nextOf(
  state: LeaseState,
  plugin: string,
  held: Held,
  now: number,
  until: number,
): readonly [Partial<Held>, LeaseEffect | undefined] {
  const { phase, epoch, isLeaving, askedAt } = held
  const isDue = now - askedAt >= state.timing.retryAfter
  const fresh = isFresh(state, now)
  if (phase === 'running' && (isLeaving || !fresh)) {
    return [{ phase: 'stopping' }, { type: 'stop', plugin, epoch, until }]
  }
  if (phase === 'stopped' && fresh && !isLeaving)
    return [{ phase: 'running' }, { type: 'start', plugin, epoch }]
  if (phase === 'flushing' && waitsInVain(state, plugin, now)) {
    return [
      { phase: 'releasing', askedAt: now, isUnflushed: true },
      release(state, plugin, { ...held, isUnflushed: true }),
    ]
  }
  if ((phase === 'stopped' && fresh) || (phase === 'flushing' && isDue)) {
    return [
      { phase: 'flushing', askedAt: now, flushingSince: held.flushingSince ?? now },
      { type: 'flush', plugin, epoch },
    ]
  }
  if (phase === 'releasing' && isDue) {
    return [{ askedAt: now }, release(state, plugin, held)]
  }
  return [{}, undefined]
}

function release(
  { host, own }: LeaseState,
  plugin: string,
  { epoch, revision, isUnflushed }: Held,
): LeaseEffect {
  const session = own?.session ?? null
  const record: LeaseRecord =
    isUnflushed === true ? { host, session, epoch, released: true } : { host: null, session: null, epoch }
  return { type: 'writeLease', plugin, record, expected: revision }
}
