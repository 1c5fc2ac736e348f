import type { Logger } from '../../base/log/log.ts'
import type { Announcement } from '../lifecycle.ts'

/** Tells everybody who listens, in the order in which things happened. */
export interface Announcements {
  announce(announcement: Announcement): void
  subscribe(listener: (announcement: Announcement) => void): () => void
}

export function createAnnouncements(logger: Logger): Announcements {
  const listeners = new Set<(announcement: Announcement) => void>()
  return {
    announce(announcement) {
      for (const listener of listeners) {
        try {
          listener(announcement)
        } catch (error) {
          // One listener's mistake must not keep the others, or the plugin that caused it, from going on.
          logger.error('A listener failed', { kind: announcement.kind, error })
        }
      }
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
