import type { BusMessage } from '../bus/bus.ts'
import { isBelow } from '../base/topic-filter.ts'
import { createTopics } from '../schema/names/topics.ts'

/** What a host has retained below a root that it has no more. */
export interface FormerTopics {
  /** All that is to be looked at. */
  filters: readonly string[]
  /** Whether the message says that a host lives under this root: one by itself, or one of a fleet. */
  isSignOfLife(message: BusMessage): boolean
  /** Whether the message is one that only a host retains there, or a plugin by its events. */
  isLeft(message: BusMessage): boolean
  /** The plugin that wanted an event on this topic to be retained. */
  eventOf(topic: string): string | undefined
  /** Says whether anybody lives there: it goes last. */
  status: string
}

/** `present`: the root that the host has now; what is below that is none of the former's. */
export function formerTopics(root: string, present: string): FormerTopics {
  const topics = createTopics(root)
  const fleetStatus = `${root}/hosts/+/status`

  function isHostStatus(topic: string): boolean {
    if (isBelow(present, topic)) return false
    return topic === topics.status || (topic.startsWith(`${root}/hosts/`) && topic.endsWith('/status'))
  }

  function isOfPlugin(topic: string): boolean {
    // A value on a topic that sets something is somebody else's, and not the host's to remove.
    if ((topics.parseControlSet(topic) ?? topics.parseExposedSet(topic)) !== undefined) return false
    return topics.parsePlugin(topic) !== undefined
  }

  return {
    filters: [topics.status, topics.safeMode, fleetStatus, topics.allPlugins],
    // Also one that comes while the rest is looked at.
    isSignOfLife: ({ topic, payload }) => isHostStatus(topic) && Buffer.from(payload).toString() === 'online',
    isLeft({ topic, payload, retained }) {
      if (!retained || payload.length === 0 || isBelow(present, topic)) return false
      return topic === topics.status || topic === topics.safeMode || isOfPlugin(topic)
    },
    eventOf(topic) {
      const parsed = topics.parsePlugin(topic)
      return parsed?.rest.startsWith('events/') === true ? parsed.plugin : undefined
    },
    status: topics.status,
  }
}
