import { type Clock, type ScheduledCall, withDeadline } from '../../base/time/clock.ts'
import type { SandboxLimits } from '../limits.ts'
import { createTokenBucket } from './token-bucket.ts'

/** Milliseconds; a timer for less would wait longer than that. */
const shortestDelay = 1
/** Bytes that a plugin may send while a reader is behind before it waits for that one: whoever says little is not to blame. */
const bytesWhileCongested = 64 * 1024
/** Bytes that an operation takes beside its content, roughly. */
const operationOverhead = 64

export interface BackpressureSettings {
  clock: Clock
  limits: SandboxLimits
  /** Resolves when those who read what the plugin has sent have caught up; undefined: nobody is behind. */
  congested(): Promise<void> | undefined
  /** Deliveries that followed from it, since it was asked last; each counts as an operation. */
  deliveries(): number
  /** A line in the plugin's log. */
  warn(message: string): void
  limitReached(limit: 'operationsPerSecond' | 'operationBurst' | 'bytesPerSecond'): void
  /** The isolate may send as much more. */
  giveCredit(credits: number): void
}

/**
 * Has a plugin wait, for credit for its next batch and for answers: while a reader of what it sends is behind, and for
 * the limits that its owner has set.
 */
export interface Backpressure {
  /** After a batch has been worked off. */
  batchTaken(batch: { operations: number; bytes: number; credits: number }): void
  /** Does what a question of so many bytes asks for, as soon as the plugin's limits allow. */
  answer(bytes: number, task: () => void): void
  /**
   * The same for a call that nobody waits for, with a budget of its own: a plugin that has another one call its functions
   * uses up nothing of what that one may ask for.
   */
  background(bytes: number, task: () => void): void
  /** From now on nothing has to wait: the clean-up has a deadline, and an end. */
  stopThrottling(): void
  close(): void
}

export function createBackpressure(settings: BackpressureSettings): Backpressure {
  const { clock, limits, congested, deliveries, warn, limitReached, giveCredit } = settings
  const chargeOwn = createTokenBucket(limits, clock.monotonic)
  const chargeBackground = createTokenBucket(limits, clock.monotonic)
  const delayed = new Set<ScheduledCall>()
  /** Bytes since everybody had caught up. */
  let sentMeanwhile = 0
  /** When the last credit that was held back is given. */
  let creditAt = Number.NEGATIVE_INFINITY
  let slowedAt = Number.NEGATIVE_INFINITY
  let isUnthrottled = false
  let closed = false

  /** Milliseconds that the plugin has to wait after having asked for so much. */
  function charge(operations: number, bytes: number): number {
    const { owed, of } = chargeOwn(operations, bytes)
    if (isUnthrottled) return 0
    if (owed > 0 && clock.monotonic() - slowedAt >= limits.slowdownNotice) {
      slowedAt = clock.monotonic()
      limitReached(of)
      // Who has to keep to the one has used up the other.
      if (of === 'operationsPerSecond') limitReached('operationBurst')
      warn(
        `the plugin is slowed down: it asks more of the host than its limit ${of} allows (${limits[of]} a second)`,
      )
    }
    return owed
  }

  function later(milliseconds: number, task: () => void): void {
    if (closed) return
    if (milliseconds < shortestDelay) {
      task()
      return
    }
    const call = clock.schedule(milliseconds, () => {
      delayed.delete(call)
      task()
    })
    delayed.add(call)
  }

  return {
    batchTaken({ operations, bytes, credits }) {
      const owed = charge(operations + deliveries(), bytes)
      const give = (): void => {
        const now = clock.monotonic()
        // Never later than a worker waits at most, counted from the credit before: several do not come at once.
        creditAt = Math.min(now + owed, Math.max(now, creditAt) + limits.drainDeadline)
        later(creditAt - now, () => giveCredit(credits))
      }
      const caughtUp = isUnthrottled ? undefined : congested()
      if (caughtUp === undefined) sentMeanwhile = 0
      else sentMeanwhile += bytes + operations * operationOverhead
      if (caughtUp === undefined || sentMeanwhile <= bytesWhileCongested) give()
      else {
        const late = (): Error => new Error('whoever reads it is too far behind to be waited for')
        withDeadline(clock, limits.drainDeadline, caughtUp, late).then(give, give)
      }
    },
    // Never as long as a worker waits at most.
    answer: (bytes, task) => later(Math.min(charge(1, bytes), limits.drainDeadline), task),
    background(bytes, task) {
      const { owed } = chargeBackground(1, bytes)
      later(Math.min(isUnthrottled ? 0 : owed, limits.drainDeadline), task)
    },
    stopThrottling() {
      isUnthrottled = true
    },
    close() {
      closed = true
      for (const call of delayed) call.cancel()
      delayed.clear()
    },
  }
}
