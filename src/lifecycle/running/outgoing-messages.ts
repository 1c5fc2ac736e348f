import { memoize } from '../../base/memoize.ts'
import { isBelow } from '../../base/topic-filter.ts'
import type { Bus } from '../../bus/bus.ts'
import { createTopics, pluginTopic } from '../../schema/names/topics.ts'
import type { DeliveryOptions } from '../../schema/worker/message-frames.ts'
import type { Guard } from '../permissions/guard.ts'

/** Things of other plugins of which a line in their logs says that this one sets them; once for each, and load. */
const commandsTold = 100

export interface OutgoingMessagesSettings {
  /** Full id. */
  plugin: string
  /** First levels of the host's own topics. */
  root: string
  bus: Pick<Bus, 'prepare'>
  guard: Pick<Guard, 'publish'>
  /** Whether there is room for what is to be retained, of so many bytes. */
  mayRetain(topic: string, bytes: number): boolean
  isLoaded(plugin: string): boolean
  /** `plugin` sets something of another plugin: `controls/…` or `exposed/…`. */
  sets(other: string, what: string): void
}

/** What one loaded plugin says with `mqttPublish`. All that follows from a topic is found out once for the topic. */
export function createOutgoingMessages(
  settings: OutgoingMessagesSettings,
): (topic: string, payload: Uint8Array, options: DeliveryOptions) => void {
  const { plugin, root, bus, guard, mayRetain, isLoaded, sets } = settings
  const topics = createTopics(root)
  const told = new Set<string>()

  const channel = memoize((topic) => {
    const other = (topics.parseControlSet(topic) ?? topics.parseExposedSet(topic))?.plugin
    return {
      send: bus.prepare(topic, plugin),
      isBelowRoot: isBelow(root, topic),
      sets: other === plugin ? undefined : other,
    }
  })

  /** As long as both are loaded. */
  function tell(other: string, topic: string): void {
    if (told.has(topic) || told.size >= commandsTold || !isLoaded(other)) return
    told.add(topic)
    sets(other, topic.slice(pluginTopic(root, other).length + 1, -'/set'.length))
  }

  return (topic, payload, { qos, retain }) => {
    if (guard.publish(topic) !== undefined) return
    const { send, isBelowRoot, sets: other } = channel(topic)
    // Below the root are only commands, which nothing is kept of.
    const isRetained = retain && !isBelowRoot
    if (isRetained && !mayRetain(topic, payload.byteLength)) return
    if (other !== undefined) tell(other, topic)
    send(payload, { qos, retain: isRetained })
  }
}
