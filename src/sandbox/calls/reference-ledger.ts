import { getOrInsert } from '../../base/get-or-insert.ts'
import type { Reference, Release } from '../../schema/worker/plugin-call.ts'

/**
 * Who holds which thing of another plugin. All values that are handed over pass the host, so it can count: each time that a
 * reference is handed over its receiver holds it once more, until it releases it. When nobody holds a thing
 * its owner may forget it. And nobody can use what was not given to him.
 */
export interface ReferenceLedger {
  join(isolate: number): void
  /**
   * Writes down that `from` hands these over to `to`. False, and nothing is written down, when `from` has not
   * got one of them. What belongs to an isolate that has ended passes: its user will be told.
   */
  transfer(from: number, to: number, references: readonly Reference[]): boolean
  /** The same for values that reach nobody. */
  discard(from: number, references: readonly Reference[]): void
  release(holder: number, releases: readonly Release[]): void
  holds(holder: number, owner: number, handle: number): boolean
  /** Forgets an isolate that has ended; answers who held something of it. */
  leave(isolate: number): number[]
  /** Things that are held by others. */
  readonly size: number
}

interface Entry {
  /** How often the owner has handed it out. */
  sent: number
  /** How often each holder has got it. */
  holders: Map<number, number>
}

/** `drop` hears of a thing that nobody holds any more, after its owner has handed it out `sent` times. */
export function createReferenceLedger(
  drop: (owner: number, handle: number, sent: number) => void,
): ReferenceLedger {
  const owners = new Map<number, Map<number, Entry>>()

  function entryOf(owner: number, handle: number): Entry | undefined {
    const things = owners.get(owner)
    return things && getOrInsert(things, handle, () => ({ sent: 0, holders: new Map() }))
  }

  function settle(owner: number, handle: number, entry: Entry): void {
    if (entry.holders.size > 0) return
    owners.get(owner)?.delete(handle)
    drop(owner, handle, entry.sent)
  }

  function holds(holder: number, owner: number, handle: number): boolean {
    return owners.get(owner)?.get(handle)?.holders.has(holder) ?? false
  }

  return {
    holds,
    join: (isolate) => void owners.set(isolate, new Map()),
    transfer(from, to, references) {
      const entitled = references.every(
        ({ owner, handle }) => owner === from || !owners.has(owner) || holds(from, owner, handle),
      )
      if (!entitled) return false
      for (const { owner, handle } of references) {
        // Back to where it belongs: its owner needs nobody to hold it.
        if (owner === to) continue
        const entry = entryOf(owner, handle)
        if (entry === undefined) continue
        if (owner === from) entry.sent += 1
        entry.holders.set(to, (entry.holders.get(to) ?? 0) + 1)
      }
      return true
    },
    discard(from, references) {
      for (const { owner, handle } of references) {
        const entry = owner === from ? entryOf(owner, handle) : undefined
        if (entry === undefined) continue
        entry.sent += 1
        settle(owner, handle, entry)
      }
    },
    release(holder, releases) {
      for (const { owner, handle, count } of releases) {
        const entry = owners.get(owner)?.get(handle)
        const held = entry?.holders.get(holder)
        if (entry === undefined || held === undefined) continue
        if (held > count) entry.holders.set(holder, held - count)
        else {
          entry.holders.delete(holder)
          settle(owner, handle, entry)
        }
      }
    },
    leave(isolate) {
      const holders = new Set(
        [...(owners.get(isolate)?.values() ?? [])].flatMap((entry) => [...entry.holders.keys()]),
      )
      owners.delete(isolate)
      for (const [owner, things] of owners) {
        for (const [handle, entry] of things) {
          if (entry.holders.delete(isolate)) settle(owner, handle, entry)
        }
      }
      return [...holders]
    },
    get size() {
      return [...owners.values()].reduce((sum, things) => sum + things.size, 0)
    },
  }
}
