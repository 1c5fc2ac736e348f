import type { Clock, ScheduledCall } from '../time/clock.ts'

/** Longest time in ms that a change waits before it is written (plugin-api.md: on disk within a second). */
export const writeDelay = 500

/** Writes something that changes often: a little later, once for all changes until then, and again if it fails. */
export interface DelayedWrite {
  changed(): void
  /** Writes what is waiting; if that fails, it is tried again later. */
  flush(): Promise<void>
  /** Whether something is still to be written: it could not be, or has changed since. */
  readonly isWaiting: boolean
  /** Nothing is written any more; resolves when a write that is under way has ended. */
  discard(): Promise<void>
}

/**
 * `write` takes what is to be written as it is then. `failed` is told once, and not at each further try: a disk stays full for
 * a night. `recovered`: what it was told of is over.
 */
export function createDelayedWrite(
  clock: Clock,
  write: () => Promise<void>,
  failed: (error: unknown) => void,
  recovered: () => void = () => undefined,
): DelayedWrite {
  let dirty = false
  let isFailing = false
  let ended = false
  let timer: ScheduledCall | undefined
  let writing = Promise.resolve()

  async function attempt(): Promise<void> {
    timer?.cancel()
    timer = undefined
    if (!dirty) return
    dirty = false
    try {
      await write()
    } catch (error) {
      if (ended) return
      dirty = true
      if (!isFailing) failed(error)
      isFailing = true
      return
    }
    if (isFailing) recovered()
    isFailing = false
  }

  function schedule(): void {
    if (ended) return
    timer ??= clock.schedule(writeDelay, () => {
      writing = writing.then(attempt).then(() => {
        if (dirty) schedule()
      })
    })
  }

  return {
    changed() {
      dirty = true
      schedule()
    },
    async flush() {
      writing = writing.then(attempt)
      await writing
      if (dirty) schedule()
    },
    get isWaiting() {
      return dirty
    },
    async discard() {
      ended = true
      dirty = false
      timer?.cancel()
      await writing
    },
  }
}
