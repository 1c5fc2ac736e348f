import { StoreRefusedError, StoreUnreachableError } from '../store/store-errors.ts'
import type { JournalStream } from './journal-stream.ts'

/**
 * Whether the stream still has the last event of this host's copy. Its servers may have lost its end while they were away, and
 * others have written another one: what comes then is no more of this fold, and what is written is on top of something else.
 */
export interface OwnEnd {
  /** Looks. Rejects where the stream does not have it, or that is not known. */
  look(): Promise<void>
  /** Why the stream is not followed: it does not have it. */
  readonly lost: Error | undefined
  /** Why nothing may be written: as `lost`, or nobody has looked over the connection there is now. */
  problem(): Error | undefined
}

/** `require`: rejects with a `StoreRefusedError` where the stream does not have it. */
export function createOwnEnd(stream: Pick<JournalStream, 'session'>, require: () => Promise<void>): OwnEnd {
  let lost: Error | undefined
  let looked: string | undefined

  return {
    async look() {
      const session = stream.session()
      try {
        await require()
        lost = undefined
        looked = session
      } catch (error) {
        if (error instanceof StoreRefusedError) lost = error
        throw error
      }
    },
    get lost() {
      return lost
    },
    problem() {
      if (lost !== undefined || looked === stream.session()) return lost
      return new StoreUnreachableError(
        "The fleet's store was away, and is looked at before anything is written.",
      )
    },
  }
}
