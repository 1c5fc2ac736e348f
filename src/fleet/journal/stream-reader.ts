import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { messageOf } from '../../base/problem.ts'
import { createDoubt } from '../store/doubt.ts'
import { StoreMissingError, StoreRefusedError } from '../store/store-errors.ts'
import type { StoredMessage } from '../store/store-stream.ts'
import type { Following, JournalStream } from './journal-stream.ts'

/** Reads the stream, and follows it anew when nothing shows that it is still followed. */
export interface StreamReader {
  /** Rejects as `follow` of the stream does. */
  start(): Promise<void>
  /** What was to hand out the messages may have died with its server. */
  followAnew(): void
  close(): Promise<void>
}

export interface StreamReaderSettings {
  stream: JournalStream
  clock: Clock
  logger: Logger
  /** Number of the last message that need not be handed out any more. */
  last(): number
  take(message: StoredMessage): void
  /** Whether the stream is not followed anew, as nobody could do anything with it. */
  isGivenUp(): boolean
  /** There is no stream to follow any more. */
  failed(error: StoreRefusedError): void
}

/**
 * Milliseconds without a sign of life of what hands out the messages until the stream is followed anew, and between two
 * looks whether there was one. It tells of itself every second; when its server dies, nothing says so.
 */
const longestSilence = 2_500
const lookEvery = 500

export function createStreamReader(settings: StreamReaderSettings): StreamReader {
  const { stream, clock, logger } = settings
  let following: Following | undefined
  let refollowing: Promise<void> | undefined
  /** When there was a sign of life of what hands out the messages, on the monotonic clock. */
  let heard = -Infinity
  let watching: ScheduledCall | undefined
  /** The stream could not be followed when that was tried last: it is told once. */
  let isCutOff = false
  const doubt = createDoubt(clock)
  let isClosed = false

  async function follow(): Promise<void> {
    const opened = await stream.follow(settings.last(), {
      take(message) {
        heard = clock.monotonic()
        settings.take(message)
      },
      alive: () => void (heard = clock.monotonic()),
      ended: () => void (heard = -Infinity),
    })
    heard = clock.monotonic()
    following = opened
    if (isClosed) await opened.close()
  }

  function followAnew(): void {
    if (isClosed || settings.isGivenUp() || refollowing !== undefined) return
    following?.close().catch(() => undefined)
    refollowing = follow()
      .then(() => {
        isCutOff = false
        doubt.forget()
      })
      .catch((error: unknown) => {
        if (isGone(error)) settings.failed(error)
        else if (!isCutOff) {
          isCutOff = true
          logger.warn("The fleet's journal cannot be followed; it is tried again", {
            error: messageOf(error),
          })
        }
      })
      .finally(() => (refollowing = undefined))
  }

  function isGone(error: unknown): error is StoreRefusedError {
    if (error instanceof StoreMissingError && !error.isCertain) return doubt.isOver()
    doubt.forget()
    return error instanceof StoreRefusedError
  }

  function watch(): void {
    watching = clock.schedule(lookEvery, () => {
      if (clock.monotonic() - heard > longestSilence) followAnew()
      watch()
    })
  }

  return {
    async start() {
      await follow()
      watch()
    },
    followAnew,
    async close() {
      isClosed = true
      watching?.cancel()
      await refollowing
      await following?.close()
    },
  }
}
