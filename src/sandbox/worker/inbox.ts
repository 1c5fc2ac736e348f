/** Milliseconds of deliveries at a stretch; then timers, heartbeats and control messages have their turn. */
const sliceLimit = 10

/**
 * Deliveries (events, messages, answers) in order, worked off in slices. The port hands over everything that has
 * come in one go; without this a plugin with a thousand waiting events would not answer a heartbeat.
 */
export interface Inbox {
  /** `deliver` does one of several; true when that was the last one. */
  add(deliver: () => boolean): void
  close(): void
}

/** `failed` hears of one that throws, and is over with it; the next ones go on. */
export function createInbox(monotonic: () => number, failed: (error: unknown) => void): Inbox {
  let waiting: (() => boolean)[] = []
  let scheduled: NodeJS.Immediate | undefined
  let closed = false

  function attempt(deliver: () => boolean): boolean {
    try {
      return deliver()
    } catch (error) {
      failed(error)
      return true
    }
  }

  function work(): void {
    const end = monotonic() + sliceLimit
    let done = 0
    let late = false
    for (const deliver of waiting) {
      let isLast = false
      while (!isLast && !late && !closed) {
        isLast = attempt(deliver)
        late = monotonic() >= end
      }
      if (isLast) done += 1
      if (late || closed) break
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
