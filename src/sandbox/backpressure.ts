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
  /** A line in the plugin's log. */
  warn(message: string): void
  /** The isolate may send one batch more. */
  giveCredit(): void
}

/** Has a plugin that asks too much of the host wait: for credit for its next batch, and for answers. */
export interface Backpressure {
  /** After a batch of so much, with whose work the host began at `begun` (monotonic milliseconds). */
  batchTaken(operations: number, bytes: number, begun: number): void
  /** Does what a question of so many bytes asks for, as soon as the plugin's pace allows. */
  answer(bytes: number, task: () => void): void
  /** From now on nothing has to wait: the clean-up has a deadline, and an end. */
  relent(): void
  close(): void
}

export function createBackpressure(settings: BackpressureSettings): Backpressure {
  const { clock, limits, drained, warn, giveCredit } = settings
  const pace = createPace(limits, clock.monotonic)
  const delayed = new Set<ScheduledCall>()
  let slowedAt = Number.NEGATIVE_INFINITY
  let relenting = false
  let closed = false

  /** Milliseconds that the plugin has to wait after having asked for so much. */
  function charge(operations: number, bytes: number): number {
    const owed = pace.charge(operations, bytes)
    if (relenting) return 0
    if (owed > 0 && clock.monotonic() - slowedAt >= limits.slowdownNotice) {
      slowedAt = clock.monotonic()
      warn(
        `the plugin is slowed down: it asks more of the host than ${limits.operationsPerSecond} operations or ${limits.bytesPerSecond} bytes a second`,
      )
    }
    return owed
  }

  /** Waits a while, though never as long as a worker waits at most. */
  function later(milliseconds: number, task: () => void): void {
    if (closed) return
    if (milliseconds < shortestDelay) {
      task()
      return
    }
    const call = clock.schedule(Math.min(milliseconds, limits.drainDeadline), () => {
      delayed.delete(call)
      task()
    })
    delayed.add(call)
  }

  return {
    batchTaken(operations, bytes, begun) {
      const owed = charge(operations, bytes)
      // Not within this turn of the event loop: others want to be served between two batches of a flood, and
      // what this one has cost the host, all that followed from it included, is known only then.
      const settle = (): void =>
        void setImmediate(() => {
          const busy = clock.monotonic() - begun
          later(Math.max(owed - busy, busy * (1 / limits.hostShare - 1)), giveCredit)
        })
      const draining = drained?.()
      if (draining === undefined) settle()
      else {
        const late = (): Error => new Error('the host could not pass it on in time')
        withDeadline(clock, limits.drainDeadline, draining, late).then(settle, settle)
      }
    },
    answer: (bytes, task) => later(charge(1, bytes), task),
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
