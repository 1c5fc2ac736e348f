import { getOrInsert } from '../base/get-or-insert.ts'
import type { Logger } from '../base/log/log.ts'
import type { DeviceAddress } from './discovery-payload.ts'
import { keyOf, type PublishedDevices } from './published-devices.ts'

/** Two devices may have one topic: Home Assistant does not take every character that an id may have. One of them is not shown. */
export interface TopicCollisions {
  /** Whether another plugin has the topic of this device, which is told in the log once. `plugin`: whose the device is. */
  isTaken(topic: string, key: string, plugin: string): boolean
  /** Nothing stands there any more: who was left out is told to try again. */
  release(topic: string): void
}

export interface TopicCollisionsSettings {
  published: Pick<PublishedDevices, 'keyAt' | 'foreignAt'>
  /** Whether the first of two plugins has a topic that hosts would announce on for both. Every host says the same. */
  precedes(plugin: string, other: string): boolean
  /** On which topic a device is announced; undefined: its plugin is not installed. */
  topicOf(device: DeviceAddress): string | undefined
  released(plugin: string): void
  logger: Pick<Logger, 'warn'>
}

export function createTopicCollisions(settings: TopicCollisionsSettings): TopicCollisions {
  const { published, precedes, topicOf, released, logger } = settings
  /** Plugins with a device that is not shown, by the topic that another one has. */
  const leftOut = new Map<string, Set<string>>()

  /** Key of the device of another host that has the topic before this plugin. Anybody may claim the topic of somebody else. */
  function holderElsewhere(topic: string, plugin: string): string | undefined {
    const found = published.foreignAt(topic)
    if (found === undefined || topicOf(found) !== topic || !precedes(found.plugin, plugin)) return undefined
    return keyOf(found)
  }

  return {
    isTaken(topic, key, plugin) {
      const other = holderElsewhere(topic, plugin) ?? published.keyAt(topic)
      if (other === undefined || other === key) return false
      const others = getOrInsert(leftOut, topic, () => new Set())
      if (others.has(plugin)) return true
      others.add(plugin)
      logger.warn('Home Assistant cannot tell two plugins apart; the second one is not shown', {
        plugin: key,
        other,
        topic,
      })
      return true
    },
    release(topic) {
      for (const plugin of leftOut.get(topic) ?? []) released(plugin)
      leftOut.delete(topic)
    },
  }
}
