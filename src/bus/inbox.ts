import type { Logger } from '../base/log.ts'
import { messageOf as textOf } from '../base/problem.ts'
import type { BusMessage, Cause, Room } from './bus.ts'

/** Where one subscription's messages arrive. */
export interface InboxEntry {
  push(message: () => BusMessage, cause?: Cause): void
  /** No call of the handler after this. False when it was closed before. */
  close(): boolean
}

/** Milliseconds of messages at a stretch; then HTTP and the broker's clients have their turn. */
const sliceLimit = 5

export interface Inbox {
  open(handler: (message: BusMessage) => void, room?: Room): InboxEntry
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
  }

  return {
    open(handler, room) {
      let open = true
      return {
        push(message, cause) {
          if (!open || closed) return
          if (room !== undefined && room.waiting >= room.limit) {
            room.dropped()
            return
          }
          // Made now: the broker goes on using its packet.
          const made = message()
          if (room !== undefined) room.waiting += 1
          cause?.waits()
          waiting.push(() => {
            if (room !== undefined) room.waiting -= 1
            try {
              if (open && !closed) handler(made)
            } catch (error) {
              logger.error('A handler of MQTT messages failed', { topic: made.topic, reason: textOf(error) })
            }
            cause?.settled()
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
    close() {
      closed = true
      waiting = []
      if (turn !== undefined) clearImmediate(turn)
    },
  }
}
