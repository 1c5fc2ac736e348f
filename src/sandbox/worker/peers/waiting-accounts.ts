import { getOrInsert } from '../../../base/get-or-insert.ts'
import type { Steps } from '../lua/steps.ts'

/** Share of this plugin's time that waiting for one other plugin may take in the long run, 0 to 1. */
const waitingShare = 0.2
/** Milliseconds at once after a rest. */
const waitingBurst = 500

/** A function of another plugin is not called now: those of that plugin have taken too much of this one's time. */
export class WaitedTooLong extends Error {
  override readonly name = 'WaitedTooLong'
}

/**
 * How long this plugin has waited for the getters and setters of each other one. Who was slow is asked again only after
 * a pause that grows with what it took; who answers quickly never notices. Does `task`, which waits for this plugin. Throws
 * `WaitedTooLong` when that took too much already.
 */
export type WaitOnAccount = <T>(plugin: string, task: Steps<T>) => Steps<T>

export function createWaitingAccounts(monotonic: () => number): WaitOnAccount {
  /** Milliseconds owed, as of `at`. */
  const accounts = new Map<string, { owed: number; at: number }>()
  return function* (plugin, task) {
    const begun = monotonic()
    const account = getOrInsert(accounts, plugin, () => ({ owed: 0, at: begun }))
    account.owed = Math.max(0, account.owed - (begun - account.at) * waitingShare)
    account.at = begun
    if (account.owed > waitingBurst)
      throw new WaitedTooLong(`${plugin} was too slow to be asked again so soon`)
    try {
      return yield* task
    } finally {
      const now = monotonic()
      account.owed += now - begun
      account.at = now
    }
  }
}
