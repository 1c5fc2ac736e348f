/**
 * What the store holds of sessions and leases. Each record has a key of its own in a bucket; the store gives each write
 * a revision, higher than all before it in the bucket, and takes a write only where the revision is the expected one.
 */

/** Of a host that lives, under its id. `n` counts the renewals. A session that was ended has no record. */
export interface SessionRecord {
  readonly session: string
  readonly n: number
  /** Its disk refuses what it would have to write down of a plugin that it takes. */
  readonly isFull?: true
}

/** Of a plugin. Without host and session: it was given back. The epoch never goes down. */
export interface LeaseRecord {
  readonly host: string | null
  readonly session: string | null
  readonly epoch: number
  /** Nothing of it runs any more, but the broker may not have all that it sent: the session's connection has to be closed first. */
  readonly released?: true
}

/** The newest of a key that is known here. `at`: when it was first seen, on the own clock. */
export interface Seen<T> {
  readonly record: T | null
  readonly revision: number
  readonly at: number
}

/**
 * A session's name tells the revision that its first record was written on top of. So of two sessions of one host
 * everybody knows which came first, however old what they have read is. `process`: letters and digits, another one for
 * each process; `count`: of the sessions of this process.
 */
export function sessionName(after: number, process: string, count: number): string {
  return `${after.toString(36)}-${process}-${count.toString(36)}`
}

export const sessionPattern = /^([0-9a-z]{1,11})-([0-9A-Za-z]{1,32})-[0-9a-z]{1,11}$/

/** The client id of a session at the broker: who takes over connects once with it. */
export function sessionClientId(fleet: string, host: string, session: string): string {
  return `lupine-${fleet}-${host}-${session}`
}

/** Whether a process with this name began the session. */
export function isSessionOf(session: string, process: string | null): boolean {
  return process !== null && sessionPattern.exec(session)?.[2] === process
}

/**
 * Whether a session is over for good, going by a record of its host. Its first record was written on top of the
 * revision in its name: a later revision that is of something else came after its last.
 */
export function hasEnded(session: string, seen: Seen<SessionRecord> | undefined): boolean {
  if (seen === undefined || seen.record?.session === session) return false
  const after = sessionPattern.exec(session)?.[1]
  return after !== undefined && seen.revision > Number.parseInt(after, 36)
}

/**
 * Names the closing of a connection that has to come before a lease is taken: once for a session that has ended. One that lives
 * connects again and has other plugins, so there it is of this lease alone. Undefined: it needs none.
 */
export function fenceOf(plugin: string, { session, epoch, released }: LeaseRecord): string | undefined {
  return released === true ? `${session} ${plugin} ${epoch}` : (session ?? undefined)
}

/** The lease of whoever speaks for the whole fleet, beside those of the plugins. */
export const coordinatorLease = '@_fleet'
