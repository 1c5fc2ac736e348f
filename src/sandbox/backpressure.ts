import { type Clock, type ScheduledCall, withDeadline } from '../base/clock.ts'
import type { SandboxLimits } from './limits.ts'
import { createPace } from './pace.ts'

/** Milliseconds; a timer for less would wait longer than that. */
const shortestDelay = 1

export interface BackpressureSettings {
  clock: Clock
  limits: SandboxLimits
  /** Resolves when what the plugin has sent so far has left the host. */
  drained: (() => Promise<void>) | undefined
  /** Deliveries that followed from it, since it was asked last; each counts as an operation. */
  deliveries: (() => number) | undefined
  /** A line in the plugin's log. */
  warn(message: string): void
  limitReached(limit: 'operationsPerSecond' | 'operationBurst' | 'bytesPerSecond'): void
  /** The isolate may send as much more. */
  giveCredit(credits: number): void
}

/** Has a plugin that asks too much of the host wait: for credit for its next batch, and for answers. */
export interface Backpressure {
  /** After a batch, with whose work the host began at `begun` (monotonic milliseconds). */
  batchTaken(batch: { operations: number; bytes: number; credits: number; begun: number }): void
  /** Does what a question of so many bytes asks for, as soon as the plugin's pace allows. */
  answer(bytes: number, task: () => void): void
  /**
   * The same for a call that nobody waits for, at a pace of its own: a plugin that has another one call its functions
   * uses up nothing of what that one may ask for.
   */
  background(bytes: number, task: () => void): void
  /** From now on nothing has to wait: the clean-up has a deadline, and an end. */
  relent(): void
  close(): void
}

export function createBackpressure(settings: BackpressureSettings): Backpressure {
  const { clock, limits, drained, deliveries, warn, limitReached, giveCredit } = settings
  const pace = createPace(limits, clock.monotonic)
  const backgroundPace = createPace(limits, clock.monotonic)
  const delayed = new Set<ScheduledCall>()
  /** When the last credit that was held back is given. */
  let creditAt = Number.NEGATIVE_INFINITY
  let slowedAt = Number.NEGATIVE_INFINITY
  let relenting = false
  let closed = false

  /** Milliseconds that the plugin has to wait after having asked for so much. */
  function charge(operations: number, bytes: number): number {
    const { owed, of } = pace.charge(operations, bytes)
    if (relenting) return 0
    if (owed > 0 && clock.monotonic() - slowedAt >= limits.slowdownNotice) {
      slowedAt = clock.monotonic()
      limitReached(of)
      // Who has to keep to the one has used up the other.
      if (of === 'operationsPerSecond') limitReached('operationBurst')
      warn(
        `the plugin is slowed down: it asks more of the host than ${limits.operationsPerSecond} operations or ${limits.bytesPerSecond} bytes a second`,
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
    batchTaken({ operations, bytes, credits, begun }) {
      const owed = charge(operations, bytes)
      // Not within this turn of the event loop: others want to be served between two batches of a flood, and
      // what this one has cost the host, all that followed from it included, is known only then.
      const settle = (): void =>
        void setImmediate(() => {
          const now = clock.monotonic()
          const busy = now - begun
          const followed = deliveries?.() ?? 0
          const paid = followed > 0 ? charge(followed, 0) : owed - busy
          // Never later than a worker waits at most, counted from the credit before: several do not come at once.
          creditAt = Math.min(
            now + Math.max(0, paid, busy * (1 / limits.hostShare - 1)),
            Math.max(now, creditAt) + limits.drainDeadline,
          )
          later(creditAt - now, () => giveCredit(credits))
        })
      const draining = drained?.()
      if (draining === undefined) settle()
      else {
        const late = (): Error => new Error('the host could not pass it on in time')
        withDeadline(clock, limits.drainDeadline, draining, late).then(settle, settle)
      }
    },
    // Never as long as a worker waits at most.
    answer: (bytes, task) => later(Math.min(charge(1, bytes), limits.drainDeadline), task),
    background(bytes, task) {
      const { owed } = backgroundPace.charge(1, bytes)
      later(Math.min(relenting ? 0 : owed, limits.drainDeadline), task)
    },
    relent() {
      relenting = true
    },
    close() {
      closed = true
      for (const call of delayed) call.cancel()
      delayed.clear()
    },
  }
}
