import type { Logger } from '../base/log.ts'
import { messageOf as textOf } from '../base/problem.ts'
import type { BusMessage } from './bus.ts'

/** Where one subscription's messages arrive. */
export interface InboxEntry {
  push(message: BusMessage): void
  /** No call of the handler after this. False when it was closed before. */
  close(): boolean
}

/** Milliseconds of messages at a stretch; then HTTP and the broker's clients have their turn. */
const sliceLimit = 10

export interface Inbox {
  open(handler: (message: BusMessage) => void): InboxEntry
  /** Resolves when nothing waits any more. */
  idle(): Promise<void>
  close(): void
}

/**
 * Calls the handlers of all subscriptions in the order in which messages arrived, in a turn of its own: a
 * handler that publishes must not do so in the middle of the broker's delivery (the subscribers after it
 * would get the answer before the question), nor keep the event loop from everything else.
 */
export function createInbox(logger: Logger): Inbox {
  let waiting: (() => void)[] = []
  let turn: NodeJS.Immediate | undefined
  let idlers: (() => void)[] = []
  let closed = false

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
    if (turn === undefined) release()
  }

  function release(): void {
    const resolved = idlers
    idlers = []
    for (const resolve of resolved) resolve()
  }

  return {
    open(handler) {
      let open = true
      return {
        push(message) {
          if (!open || closed) return
          waiting.push(() => {
            if (!open || closed) return
            try {
              handler(message)
            } catch (error) {
              logger.error('A handler of MQTT messages failed', {
                topic: message.topic,
                reason: textOf(error),
              })
            }
          })
          turn ??= setImmediate(drain)
        },
        close() {
          const wasOpen = open
          open = false
          return wasOpen
        },
      }
    },
    idle: () => (waiting.length === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
    close() {
      closed = true
      waiting = []
      if (turn !== undefined) clearImmediate(turn)
      release()
    },
  }
}
