import type { Placement } from './placement.ts'
import type { LeaseRecord, Seen, SessionRecord } from './records.ts'
import { leaseTiming, type LeaseTiming } from './timing.ts'

/** What a host knows and does about leases, what happens to it, and what it wants done. Times are of its own clock. */

/** The session of this host, from its first record on. */
export interface OwnSession {
  readonly session: string
  /** Of the last record that is known of it, or what its first one was written on top of. */
  readonly revision: number
  /** Number of the last record that was sent. */
  readonly n: number
  /** When each record was sent that nothing was heard of yet, by its number. */
  readonly sent: ReadonlyMap<number, number>
  readonly lastSent: number
  /** When the last record was sent that the store has taken; null: none is known yet. */
  readonly validFrom: number | null
  /** When the record was last tried to be taken away, because this host goes. */
  readonly withdrawnAt: number | null
}

/**
 * A lease of the own session. `running`: it was told to start; `stopping`: told to unload; `stopped`: it is unloaded;
 * `flushing`: unloaded, and the broker has not answered yet what was sent after its last message; `releasing`: the
 * lease is being given back.
 */
export interface Held {
  readonly epoch: number
  readonly revision: number
  readonly phase: 'running' | 'stopping' | 'stopped' | 'flushing' | 'releasing'
  /** It goes to another host, or nowhere. */
  readonly isLeaving: boolean
  /** When the flush or the release was asked for. */
  readonly askedAt: number
  /** Since when the broker has been asked. */
  readonly flushingSince?: number
  /** It is given back although the broker has not answered. */
  readonly isUnflushed?: true
}

export interface HostDescription {
  readonly labels: readonly string[]
  readonly draining: boolean
}

export interface LeaseState {
  readonly host: string
  /** Name of this process, in the names of its sessions. */
  readonly process: string
  /** Name of the process before this one in the same data directory, which is known to be dead. */
  readonly heirOf: string | null
  readonly timing: LeaseTiming
  /** Everything that is in the store has been seen once. */
  readonly isSynced: boolean
  /** This host goes: nothing is begun any more, and its session ends when all its plugins are stopped. */
  readonly isLeaving: boolean
  readonly own: OwnSession | null
  /** How many sessions this process has begun. */
  readonly sessions: number
  /** Renewals that were seen of somebody else's session under the own id. */
  readonly rival: { readonly session: string; readonly renewals: number } | null
  readonly hosts: ReadonlyMap<string, Seen<SessionRecord>>
  readonly leases: ReadonlyMap<string, Seen<LeaseRecord>>
  readonly held: ReadonlyMap<string, Held>
  /** What the broker has closed the connection for, as `fenceOf` names it. */
  readonly fenced: ReadonlySet<string>
  /** When something was last asked for that may need another try, by what it is. */
  readonly asked: ReadonlyMap<string, number>
  /** Plugins that are to run. */
  readonly wanted: ReadonlyMap<string, Placement>
  readonly descriptions: ReadonlyMap<string, HostDescription>
  /** Hosts that are known to have no connection to the broker; this one may be among them. */
  readonly withoutBroker: ReadonlySet<string>
  /** Since when it is those. */
  readonly withoutBrokerSince: number
  /** The disk of this host refuses what it would have to write down of a plugin. */
  readonly isFull: boolean
}

export type LeaseEvent =
  | { readonly type: 'tick' }
  | { readonly type: 'synced' }
  /** A record as it was read, watched, or written by this host and taken; in any order, and any number of times. */
  | {
      readonly type: 'hostSeen'
      readonly host: string
      readonly record: SessionRecord | null
      readonly revision: number
    }
  | {
      readonly type: 'leaseSeen'
      readonly plugin: string
      readonly record: LeaseRecord | null
      readonly revision: number
    }
  /** From the journal: what is to run, and what is known of hosts. */
  | { readonly type: 'wantedChanged'; readonly wanted: ReadonlyMap<string, Placement> }
  | { readonly type: 'hostsDescribed'; readonly descriptions: ReadonlyMap<string, HostDescription> }
  | { readonly type: 'brokersSeen'; readonly withoutBroker: ReadonlySet<string> }
  | { readonly type: 'diskSeen'; readonly isFull: boolean }
  /** The broker has taken the session's client id over, so its old connection is closed. */
  | { readonly type: 'fenced'; readonly fence: string }
  /** Nothing of the plugin is left, and nothing of it waits to be sent. */
  | { readonly type: 'stopped'; readonly plugin: string; readonly epoch: number }
  /** The broker has answered what was sent after the plugin's last message. */
  | { readonly type: 'flushed'; readonly plugin: string; readonly epoch: number }
  /** Somebody wants the plugin to run elsewhere. */
  | { readonly type: 'giveBack'; readonly plugin: string }
  /** This host is to end. */
  | { readonly type: 'leave' }

export type LeaseEffect =
  /** Writes the record (null removes it) if the key's revision is the expected one; 0: there never was one. */
  | {
      readonly type: 'writeHost'
      readonly host: string
      readonly record: SessionRecord | null
      readonly expected: number
    }
  | {
      readonly type: 'writeLease'
      readonly plugin: string
      readonly record: LeaseRecord
      readonly expected: number
    }
  /** Connects to the broker once under the client id of a session; `fenced` is to follow, with that name. */
  | { readonly type: 'fence'; readonly host: string; readonly session: string; readonly fence: string }
  | { readonly type: 'start'; readonly plugin: string; readonly epoch: number }
  /** Unloads the plugin, which has until then; `stopped` is to follow. */
  | { readonly type: 'stop'; readonly plugin: string; readonly epoch: number; readonly until: number }
  /** Ends the worker now. */
  | { readonly type: 'kill'; readonly plugin: string; readonly epoch: number }
  /** Sends something to the broker over the session's connection; `flushed` is to follow. */
  | { readonly type: 'flush'; readonly plugin: string; readonly epoch: number }
  | { readonly type: 'sessionBegan'; readonly session: string }
  | { readonly type: 'sessionOver'; readonly session: string }
  /** Another live host has the same id: this one has to end. */
  | { readonly type: 'refuse'; readonly rival: string }

export interface LeaseBeginning {
  host: string
  process: string
  heirOf?: string | null
  timing?: LeaseTiming
}

export function initialLeaseState(beginning: LeaseBeginning): LeaseState {
  return {
    host: beginning.host,
    process: beginning.process,
    heirOf: beginning.heirOf ?? null,
    timing: beginning.timing ?? leaseTiming,
    isSynced: false,
    isLeaving: false,
    own: null,
    sessions: 0,
    rival: null,
    hosts: new Map(),
    leases: new Map(),
    held: new Map(),
    fenced: new Set(),
    asked: new Map(),
    wanted: new Map(),
    descriptions: new Map(),
    withoutBroker: new Set(),
    withoutBrokerSince: 0,
    isFull: false,
  }
}

/** When the own session is over; undefined: there is none. */
export function endOfSession({ own, timing }: LeaseState): number | undefined {
  return own === null || own.validFrom === null ? undefined : own.validFrom + timing.sessionLength
}

/** Whether the session is renewed as it should be, and goes on: only then anything new is begun. */
export function isFresh({ own, isLeaving, timing }: LeaseState, now: number): boolean {
  return !isLeaving && own !== null && own.validFrom !== null && now < own.validFrom + timing.unloadAfter
}

/** Whether a plugin may publish, request or write now. To be asked before each act, on the connection it goes over. */
export function mayAct(state: LeaseState, plugin: string, epoch: number, now: number): boolean {
  const held = state.held.get(plugin)
  if (held?.epoch !== epoch || (held.phase !== 'running' && held.phase !== 'stopping')) return false
  const end = endOfSession(state)
  return end !== undefined && now < end
}
