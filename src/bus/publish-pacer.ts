import { setImmediate } from 'node:timers/promises'
import type { Bus } from './bus.ts'

/** Messages, and bytes of their payloads, that are published in one go. */
const chunk = { messages: 500, bytes: 1024 * 1024 }

/**
 * Keeps whoever publishes much at once in step with the broker: more than what may wait for it would be lost, and others
 * have their turn in between.
 */
export interface PublishPacer {
  /** So many bytes were published. True: `pause` comes before more. */
  sent(bytes: number): boolean
  /** Resolves when there is room for more; with false when nobody would get it, as the connection is gone or it is over. */
  pause(): Promise<boolean>
}

export function createPublishPacer(
  bus: Pick<Bus, 'congested' | 'connected'>,
  isOver: () => boolean,
): PublishPacer {
  let messages = 0
  let bytes = 0

  return {
    sent(more) {
      messages += 1
      bytes += more
      return messages >= chunk.messages || bytes >= chunk.bytes
    },
    async pause() {
      messages = 0
      bytes = 0
      await setImmediate()
      while (bus.connected && !isOver()) {
        const caughtUp = bus.congested()
        if (caughtUp === undefined) return true
        await caughtUp
      }
      return false
    },
  }
}
