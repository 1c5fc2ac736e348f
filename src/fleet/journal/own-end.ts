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
  /** Throws where nothing may be written: as `lost`, or nobody has looked over the connection there is now; `again` has that done. */
  require(again: () => void): void
}

/** `ask`: rejects with a `StoreRefusedError` where the stream does not have it. */
export function createOwnEnd(stream: Pick<JournalStream, 'session'>, ask: () => Promise<void>): OwnEnd {
  let lost: Error | undefined
  let looked: string | undefined

  return {
    async look() {
      const session = stream.session()
      try {
        await ask()
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
    require(again) {
      if (lost !== undefined) throw lost
      if (looked === stream.session()) return
      again()
      throw new StoreUnreachableError(
        "The fleet's store was away, and is looked at before anything is written.",
      )
    },
  }
}
