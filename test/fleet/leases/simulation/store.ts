import type { LeaseRecord, SessionRecord } from '../../../../src/fleet/leases/records.ts'
import type { Safeguards } from './safeguards.ts'

/** The store, seen from outside: one leader that takes writes in an order, or none for a while. */

export type Bucket = 'hosts' | 'leases'
export type StoredRecord = SessionRecord | LeaseRecord

export interface Change {
  bucket: Bucket
  key: string
  record: StoredRecord | null
  revision: number
}

/** An entry of the journal of one plugin. Facts and moves are of somebody who has the lease. */
export type Entry =
  { kind: 'command'; key: string } | { kind: 'move'; epoch: number } | { kind: 'fact'; epoch: number }

export interface Store {
  /** Without a leader nothing is answered. */
  hasLeader: boolean
  /** A leader that is about to die takes writes and answers nothing. */
  answers: boolean
  /** Writes taken so far. */
  readonly writes: number
  /** Undefined: refused, because the revision is another one. */
  write(bucket: Bucket, key: string, record: StoredRecord | null, expected: number): Change | undefined
  all(): Change[]
  journal(plugin: string): readonly Entry[]
  /** Whether it was taken: only on top of so many entries. */
  append(plugin: string, entry: Entry, expected: number): boolean
  /** Hears of each change of the buckets. */
  watch(listener: (change: Change) => void): void
}

export function createStore(safeguards: Safeguards): Store {
  const kept: Record<Bucket, Map<string, Change>> = { hosts: new Map(), leases: new Map() }
  const journals = new Map<string, Entry[]>()
  const listeners: ((change: Change) => void)[] = []
  let revision = 0
  let writes = 0
  const store: Store = {
    hasLeader: true,
    answers: true,
    get writes() {
      return writes
    },
    write(bucket, key, record, expected) {
      const isExpected = (kept[bucket].get(key)?.revision ?? 0) === expected
      if (!isExpected && safeguards.compareAndSet) return undefined
      revision += 1
      writes += 1
      const change = { bucket, key, record, revision }
      kept[bucket].set(key, change)
      for (const listener of listeners) listener(change)
      return change
    },
    all: () => [...kept.hosts.values(), ...kept.leases.values()],
    journal: (plugin) => journals.get(plugin) ?? [],
    append(plugin, entry, expected) {
      const entries = journals.get(plugin) ?? []
      if (entries.length !== expected && safeguards.expectedSequence) return false
      writes += 1
      journals.set(plugin, [...entries, entry])
      return true
    },
    watch: (listener) => void listeners.push(listener),
  }
  return store
}
