import { getOrInsert } from '../../../base/get-or-insert.ts'

/** Bytes of a worker's memory, as far as they are one isolate's doing. */
interface MemoryAccount {
  /** Bytes that it is taken to keep. */
  grown: number
  /** Bytes that it has asked for lately: those of each window before count half. */
  asked: number
}

export interface Grower {
  isolate: number
  /** Bytes. */
  grown: number
}

/**
 * By how much a worker's memory has grown for each of the isolates in it. Whose garbage is collected nobody knows: it counts for who
 * has lately asked for most, so that one which makes garbage stays, and one which keeps grows.
 */
export interface MemoryAccounts {
  /** So many bytes more, in a turn of this isolate. */
  grow(isolate: number, bytes: number): void
  /** So many bytes less, whosever they were. */
  shrink(bytes: number): void
  /** The one for which memory has grown most. */
  largest(): Grower | undefined
  /** The same of those that this holds for. */
  largestOf(counts: (isolate: number) => boolean): Grower | undefined
  grownOf(isolate: number): number
  endWindow(): void
  /** All is collected that those that have ended have left. */
  collected(): void
  /** It has ended: what it has left is still to be collected. */
  forget(isolate: number): void
}

export function createMemoryAccounts(): MemoryAccounts {
  const accounts = new Map<number, MemoryAccount>()
  /** For whom memory has grown most, and whether that has to be found out anew. */
  let leader: number | undefined
  let isLeaderInDoubt = false
  /** Bytes of those that have ended, which are still to be collected. */
  let orphaned = 0

  const grownOf = (isolate: number): number => accounts.get(isolate)?.grown ?? 0

  function grow(isolate: number, bytes: number): void {
    const account = getOrInsert(accounts, isolate, () => ({ grown: 0, asked: 0 }))
    account.grown += bytes
    account.asked += bytes
    if (leader === undefined || account.grown > grownOf(leader)) leader = isolate
  }

  function shrink(bytes: number): void {
    const ofEnded = Math.min(bytes, orphaned)
    orphaned -= ofEnded
    for (let left = bytes - ofEnded; left > 0;) {
      let most: MemoryAccount | undefined
      for (const one of accounts.values()) if (one.grown > 0 && one.asked >= (most?.asked ?? 0)) most = one
      if (most === undefined) return
      const taken = Math.min(left, most.grown)
      most.grown -= taken
      left -= taken
      isLeaderInDoubt = true
    }
  }

  function largestOf(counts: (isolate: number) => boolean): Grower | undefined {
    let found: Grower | undefined
    for (const [isolate, { grown }] of accounts)
      if (grown > (found?.grown ?? 0) && counts(isolate)) found = { isolate, grown }
    return found
  }

  return {
    grow,
    shrink,
    largest() {
      if (isLeaderInDoubt) leader = largestOf(() => true)?.isolate
      isLeaderInDoubt = false
      return leader === undefined ? undefined : { isolate: leader, grown: grownOf(leader) }
    },
    largestOf,
    grownOf,
    endWindow() {
      for (const account of accounts.values()) account.asked /= 2
    },
    collected() {
      orphaned = 0
    },
    forget(isolate) {
      orphaned += grownOf(isolate)
      accounts.delete(isolate)
      if (leader !== isolate) return
      leader = undefined
      isLeaderInDoubt = true
    },
  }
}
