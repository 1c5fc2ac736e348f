/** Deliveries (events, messages, answers), in order. */
export interface Inbox {
  /** `deliver` does one of several; true when that was the last one. */
  add(deliver: () => boolean): void
  /** Delivers one after the other for as long as `mayGoOn`; answers whether there are more. */
  work(mayGoOn: () => boolean): boolean
  close(): void
}

/** `failed` hears of one that throws, and is over with it; the next ones go on. */
export function createInbox(failed: (error: unknown) => void): Inbox {
  let waiting: (() => boolean)[] = []
  /** Of those that wait, how many are done. */
  let done = 0

  function attempt(deliver: () => boolean): boolean {
    try {
      return deliver()
    } catch (error) {
      failed(error)
      return true
    }
  }

  return {
    add: (deliver) => void waiting.push(deliver),
    work(mayGoOn) {
      for (let deliver = waiting[done]; deliver !== undefined && mayGoOn(); deliver = waiting[done])
        if (attempt(deliver)) done += 1
      // There may be very many, of which each slice does a few.
      if (done * 2 >= waiting.length) {
        waiting = waiting.slice(done)
        done = 0
      }
      return waiting.length > done
    },
    close() {
      waiting = []
      done = 0
    },
  }
}
