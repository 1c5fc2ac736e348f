import type { Logger } from '../base/log/log.ts'
import { messageOf as textOf } from '../base/problem.ts'
import { createDeferred, type Deferred } from '../base/time/deferred.ts'
import type { BusMessage, SubscribeOptions } from './bus.ts'

/** Where one subscription's messages arrive. */
export interface InboxEntry {
  /** The payload is its publisher's: it is copied if it has to wait. */
  push(message: BusMessage): void
  /** No call of the handler after this. False when it was closed before. */
  close(): boolean
}

/** Milliseconds of messages at a stretch; then HTTP and the broker's clients have their turn. */
const sliceLimit = 5
/** Messages that may wait before those who publish are asked to. */
const backlogLimit = 1_000

export interface Inbox {
  open(handler: (message: BusMessage) => void, options?: SubscribeOptions): InboxEntry
  /** Resolves when few messages wait; undefined when that is so now. */
  congested(): Promise<void> | undefined
  close(): void
}

/**
 * Calls the handlers of all subscriptions in the order in which messages arrived, in a turn of its own: a
 * handler that publishes must not do so in the middle of the broker's delivery (the subscribers after it
 * would get the answer before the question), nor keep the event loop from everything else. One that wants to be called
 * immediately does neither.
 */
export function createInbox(logger: Logger): Inbox {
  let waiting: (() => void)[] = []
  let turn: NodeJS.Immediate | undefined
  let closed = false
  let caughtUp: Deferred<undefined> | undefined

  function drain(): void {
    const end = performance.now() + sliceLimit
    let done = 0
    for (const call of waiting) {
      if (done > 0 && performance.now() >= end) break
      done += 1
      call()
    }
    waiting = waiting.slice(done)
    turn = waiting.length > 0 ? setImmediate(drain) : undefined
    if (waiting.length <= backlogLimit) release()
  }

  function release(): void {
    caughtUp?.resolve(undefined)
    caughtUp = undefined
  }

  return {
    open(handler, { immediate = false } = {}) {
      let open = true

      function handle(message: BusMessage): void {
        if (!open || closed) return
        try {
          handler(message)
        } catch (error) {
          logger.error('A handler of MQTT messages failed', { topic: message.topic, reason: textOf(error) })
        }
      }

      return {
        push(message) {
          if (immediate) handle(message)
          else if (open && !closed) {
            const kept = { ...message, payload: Uint8Array.from(message.payload) }
            waiting.push(() => handle(kept))
            turn ??= setImmediate(drain)
          }
        },
        close() {
          const wasOpen = open
          open = false
          return wasOpen
        },
      }
    },
    congested() {
      if (waiting.length <= backlogLimit) return undefined
      return (caughtUp ??= createDeferred()).promise
    },
    close() {
      closed = true
      waiting = []
      if (turn !== undefined) clearImmediate(turn)
      release()
    },
  }
}
