import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { messageOf } from '../../base/problem.ts'
import type { GracePeriod } from './grace-period.ts'
import { StoreMissingError, StoreRefusedError } from './store-errors.ts'
import type { Follower, Following, Pace } from './store-stream.ts'

/** Reads a stream, and follows it anew when nothing shows that it is still followed. */
export interface StreamReader {
  /** Rejects as `follow` of the stream does. */
  start(): Promise<void>
  /** What was to hand out the messages may have died with its server. */
  followAnew(): void
  /** Takes nothing more until the stream is followed anew; that is tried as soon as `isGivenUp` says no. */
  pause(): void
  close(): Promise<void>
}

export interface StreamReaderSettings {
  /** What it is, for the log. */
  name: string
  clock: Clock
  logger: Logger
  pace: Pace
  /** As that of a `StoreStream`, from where it is to go on. */
  follow(pace: Pace, follower: Follower): Promise<Following>
  take: Follower['take']
  /** Of the stream's absence. */
  gracePeriod: GracePeriod
  /** Whether the stream is not followed anew, as nobody could do anything with it. */
  isGivenUp(): boolean
  /** There is no stream to follow any more. */
  failed(error: StoreRefusedError): void
}

/** Heartbeats that fail to come until the stream is followed anew: when the server of what hands it out dies, nothing says so. */
const silentHeartbeats = 2.5
/** Milliseconds between two tries to follow a stream that is not followed. */
const tryEvery = 500

export function createStreamReader(settings: StreamReaderSettings): StreamReader {
  const { clock, logger, gracePeriod } = settings
  const longestSilence = silentHeartbeats * settings.pace.heartbeat
  let following: Following | undefined
  /** Who takes what comes. After its end another one may still get what had come before. */
  let current: Follower | undefined
  let refollowing: Promise<void> | undefined
  /** When there was a sign of life of what hands out the messages, on the monotonic clock. */
  let heard = -Infinity
  let watching: ScheduledCall | undefined
  /** The stream could not be followed when that was tried last: it is told once. */
  let isCutOff = false
  let isClosed = false

  async function follow(): Promise<void> {
    const follower: Follower = {
      take(message, isRemoval) {
        if (follower !== current) return
        heard = clock.monotonic()
        settings.take(message, isRemoval)
      },
      alive() {
        if (follower === current) heard = clock.monotonic()
      },
      ended() {
        if (follower === current) pause()
      },
    }
    current = follower
    const opened = await settings.follow(settings.pace, follower)
    if (isClosed || follower !== current) {
      await opened.close()
      return
    }
    heard = clock.monotonic()
    following = opened
  }

  function pause(): void {
    current = undefined
    heard = -Infinity
    following?.close().catch(() => undefined)
    following = undefined
    if (watching !== undefined) watch()
  }

  function followAnew(): void {
    if (isClosed || settings.isGivenUp() || refollowing !== undefined) return
    pause()
    refollowing = follow()
      .then(() => {
        isCutOff = false
        gracePeriod.reset()
      })
      .catch((error: unknown) => {
        if (isGone(error)) settings.failed(error)
        else if (!isCutOff) {
          isCutOff = true
          logger.warn(`${settings.name} cannot be followed; it is tried again`, { error: messageOf(error) })
        }
      })
      .finally(() => (refollowing = undefined))
  }

  function isGone(error: unknown): error is StoreRefusedError {
    if (error instanceof StoreMissingError && !error.isCertain) return gracePeriod.isOver()
    gracePeriod.reset()
    return error instanceof StoreRefusedError
  }

  /** Looks when it has been silent for too long, unless there is a sign of life before: a stream that is well wakes nobody for that. */
  function watch(): void {
    watching?.cancel()
    if (isClosed) return
    const left = heard + longestSilence - clock.monotonic()
    watching = clock.schedule(left < 0 ? tryEvery : left + 1, look)
  }

  function look(): void {
    if (clock.monotonic() - heard > longestSilence) followAnew()
    watch()
  }

  return {
    async start() {
      await follow()
      watch()
    },
    followAnew,
    pause,
    async close() {
      isClosed = true
      watching?.cancel()
      await refollowing
      await following?.close()
    },
  }
}
