import type { DeviceAddress, Discovery } from './discovery-payload.ts'

/** A discovery message that stands on the broker. */
export interface PublishedDevice extends DeviceAddress {
  topic: string
  text: string
  platforms: Discovery['platforms']
  /** What it was made of; undefined for what was found retained. */
  sources?: readonly unknown[]
}

/** What is known to stand on the broker, of this host and of others. */
export interface PublishedDevices {
  get(key: string): PublishedDevice | undefined
  /** Whose the topic is, if this host has published something there. */
  keyAt(topic: string): string | undefined
  keep(entry: PublishedDevice): void
  forget(key: string): void
  all(): Iterable<PublishedDevice>
  /** As they are now, by key. */
  ofPlugin(plugin: string): [key: string, entry: PublishedDevice][]
  keepForeign(entry: PublishedDevice): void
  forgetForeign(topic: string): void
  /** What others have published, as it is now. */
  foreigners(): PublishedDevice[]
  /** What others have published of the plugin is this host's from now on. */
  takeOver(plugin: string): void
  /** What this host has published of the plugin is another one's from now on. */
  handOver(plugin: string): void
}

export function createPublishedDevices(): PublishedDevices {
  /** By plugin, or plugin and device. */
  const published = new Map<string, PublishedDevice>()
  /** The keys of those, by topic. */
  const keyOfTopic = new Map<string, string>()
  /** What other hosts of the fleet have published, by topic: whoever takes a plugin over goes on from there. */
  const foreign = new Map<string, PublishedDevice>()

  function keep(entry: PublishedDevice): void {
    const key = keyOf(entry)
    forget(key)
    published.set(key, entry)
    keyOfTopic.set(entry.topic, key)
  }

  function forget(key: string): void {
    const topic = published.get(key)?.topic
    if (topic !== undefined && keyOfTopic.get(topic) === key) keyOfTopic.delete(topic)
    published.delete(key)
  }

  return {
    get: (key) => published.get(key),
    keyAt: (topic) => keyOfTopic.get(topic),
    keep,
    forget,
    all: () => published.values(),
    ofPlugin: (plugin) => [...published].filter(([, entry]) => entry.plugin === plugin),
    keepForeign: (entry) => void foreign.set(entry.topic, entry),
    forgetForeign: (topic) => void foreign.delete(topic),
    foreigners: () => [...foreign.values()],
    takeOver(plugin) {
      for (const [topic, entry] of foreign) {
        if (entry.plugin !== plugin) continue
        foreign.delete(topic)
        keep(entry)
      }
    },
    handOver(plugin) {
      for (const [key, entry] of published) {
        if (entry.plugin !== plugin) continue
        forget(key)
        foreign.set(entry.topic, entry)
      }
    },
  }
}

/** Key of a device: its plugin, or plugin and device. */
export const keyOf = ({ plugin, device }: DeviceAddress): string =>
  device === undefined ? plugin : `${plugin}/${device}`
