/** Milliseconds of deliveries at a stretch; then timers, heartbeats and control messages have their turn. */
const sliceLimit = 10

/**
 * Deliveries (events, messages) in order, worked off in slices. The port hands over everything that has
 * come in one go; without this a plugin with a thousand waiting events would not answer a heartbeat.
 */
export interface Inbox {
  add(deliver: () => void): void
  close(): void
}

/** `failed` hears of a delivery that throws; the next ones go on. */
export function createInbox(monotonic: () => number, failed: (error: unknown) => void): Inbox {
  let waiting: (() => void)[] = []
  let scheduled: NodeJS.Immediate | undefined
  let closed = false

  function work(): void {
    const end = monotonic() + sliceLimit
    let done = 0
    for (const deliver of waiting) {
      if (closed) return
      done += 1
      try {
        deliver()
      } catch (error) {
        failed(error)
      }
      if (monotonic() >= end) break
    }
    waiting = waiting.slice(done)
    scheduled = waiting.length > 0 && !closed ? setImmediate(work) : undefined
  }

  return {
    add(deliver) {
      if (closed) return
      waiting.push(deliver)
      scheduled ??= setImmediate(work)
    },
    close() {
      closed = true
      waiting = []
      if (scheduled !== undefined) clearImmediate(scheduled)
    },
  }
}
