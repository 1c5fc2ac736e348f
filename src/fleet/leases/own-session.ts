import { isSessionOf, sessionName, type Seen, type SessionRecord } from './records.ts'
import { endOfSession, type LeaseEffect, type LeaseState, type OwnSession } from './state.ts'

/** The session of this host: begun, renewed, and over. */

type Result = readonly [LeaseState, readonly LeaseEffect[]]

/** Records that nothing was heard of, and whose time is remembered. */
const rememberedRecords = 16
/** Renewals of another session under the own id, after which it is no late message of a host that has died. */
const renewalsOfRival = 2

/** Sends the record that is due, or begins a session. */
export function keepSession(state: LeaseState, now: number): Result {
  const { own, timing, isSynced, isLeaving } = state
  if (own === null) return isSynced && !isLeaving ? beginSession(state, now) : [state, []]
  if (isLeaving && [...state.held.values()].every(({ phase }) => phase !== 'running' && phase !== 'stopping'))
    return withdraw(state, own, now)
  const pause = own.sent.size === 0 ? timing.renewEvery : timing.retryAfter
  if (now - own.lastSent < pause) return [state, []]
  return sendRecord(state, own, own.n + 1, now)
}

function beginSession(state: LeaseState, now: number): Result {
  const { host, process, heirOf, rival, timing } = state
  const seen = state.hosts.get(host)
  const found = seen?.record?.session
  const isFree = found === undefined || isSessionOf(found, process) || isSessionOf(found, heirOf)
  if (!isFree && seen !== undefined) {
    if (rival !== null && rival.renewals >= renewalsOfRival)
      return [state, [{ type: 'refuse', rival: found }]]
    if (now - seen.at < timing.takeOverAfter) return [state, []]
  }
  const revision = seen?.revision ?? 0
  const session = sessionName(revision, process, state.sessions)
  const own: OwnSession = {
    ...{ session, revision, n: 0, sent: new Map(), lastSent: now },
    ...{ validFrom: null, withdrawnAt: null },
  }
  return sendRecord({ ...state, sessions: state.sessions + 1 }, own, 0, now)
}

/** Nothing of any plugin is left: the session ends before its time, so that others need not wait for that. */
function withdraw(state: LeaseState, own: OwnSession, now: number): Result {
  const { withdrawnAt } = own
  if (withdrawnAt !== null && now - withdrawnAt < state.timing.retryAfter) return [state, []]
  return [
    { ...state, own: { ...own, withdrawnAt: now } },
    [{ type: 'writeHost', host: state.host, record: null, expected: own.revision }],
  ]
}

/** Each record has a number of its own, also when one is tried again: so it is known when the one was sent that was taken. */
function sendRecord(state: LeaseState, own: OwnSession, n: number, now: number): Result {
  const { session, revision } = own
  const sent = new Map([...own.sent, [n, now] as const].slice(-rememberedRecords))
  const record: SessionRecord = { session, n, ...(state.isFull ? { isFull: true } : {}) }
  return [
    { ...state, own: { ...own, n, sent, lastSent: now } },
    [{ type: 'writeHost', host: state.host, record, expected: revision }],
  ]
}

/** Takes in a new record under the own id. */
export function ownRecordSeen(state: LeaseState, seen: Seen<SessionRecord>): Result {
  const { own, rival } = state
  const { record, revision } = seen
  if (own === null || record?.session !== own.session) {
    // A session that has not begun may hear late of what its first record was to replace.
    const isOver = own !== null && revision > own.revision
    const [next, effects] = isOver ? endSession(state) : ([state, []] as const)
    const renewals = rival !== null && rival.session === record?.session ? rival.renewals + 1 : 0
    return [{ ...next, rival: record === null ? null : { session: record.session, renewals } }, effects]
  }
  const sentAt = own.sent.get(record.n)
  const sent = new Map([...own.sent].filter(([n]) => n > record.n))
  const validFrom = sentAt ?? own.validFrom
  const next = { ...state, rival: null, own: { ...own, revision, sent, validFrom } }
  if (own.validFrom !== null || validFrom === null) return [next, []]
  return [next, [{ type: 'sessionBegan', session: own.session }]]
}

/** Ends what is over by the own clock. */
export function endWhenOver(state: LeaseState, now: number): Result {
  const end = endOfSession(state)
  return end !== undefined && now >= end ? endSession(state) : [state, []]
}

function endSession(state: LeaseState): Result {
  const { own, held } = state
  if (own === null) return [state, []]
  const kills = [...held].map(([plugin, { epoch }]): LeaseEffect => ({ type: 'kill', plugin, epoch }))
  const over: LeaseEffect[] = own.validFrom === null ? [] : [{ type: 'sessionOver', session: own.session }]
  return [{ ...state, own: null, held: new Map() }, [...kills, ...over]]
}
