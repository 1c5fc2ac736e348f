import { getOrInsert } from '../base/get-or-insert.ts'
import type { DeviceAddress, Discovery } from './discovery-payload.ts'
import { readDevice } from './read-device.ts'

/** A discovery message that stands on the broker. */
export interface PublishedDevice extends DeviceAddress {
  topic: string
  text: string
  platforms: Discovery['platforms']
  uniqueIds: Discovery['uniqueIds']
  /** What it was made of; undefined for what was found retained. */
  sources?: readonly unknown[]
  /** Something else stands there now. */
  isOverwritten?: boolean
}

/** One that another host of the fleet has published. */
export interface ForeignDevice extends DeviceAddress {
  topic: string
  /** Those of the one before it, until it has been read; undefined: none has been. */
  uniqueIds?: Discovery['uniqueIds'] | undefined
  /** Bytes of the message. */
  bytes: number
  /** Nobody has looked at more than whose it is. */
  isUnread?: boolean
  /** What is to be known of it before this host publishes there; undefined: it is none after all. */
  read(): PublishedDevice | undefined
}

/**
 * Topics and bytes of what others have published that are kept, twenty times what a large house has: a plugin, or a client of the
 * broker, may publish on ever new topics.
 */
export const foreignLimit = 10_000
export const foreignBytesLimit = 32 * 1024 * 1024

/** What is known to stand on the broker, of this host and of others. */
export interface PublishedDevices {
  get(key: string): PublishedDevice | undefined
  /** Whose the topic is, if this host has published something there. */
  keyAt(topic: string): string | undefined
  /** Whether a component of another plugin has this `unique_id`, also one of another host, if that has been read. */
  isTaken(uniqueId: string, plugin: string): boolean
  keep(entry: PublishedDevice): void
  forget(key: string): void
  all(): Iterable<PublishedDevice>
  /** As they are now, by key. */
  ofPlugin(plugin: string): [key: string, entry: PublishedDevice][]
  /** What stands now where this host has announced something else, which is to be looked at anew, is kept as well. */
  keepForeign(entry: ForeignDevice): void
  /** What another host has published on this topic. */
  foreignAt(topic: string): ForeignDevice | undefined
  /** Reads what others have published of plugins whose ids may be written like those of this one. */
  readPossibleCollisions(plugin: string): void
  /** Answers what was known of it. */
  forgetForeign(topic: string): ForeignDevice | undefined
  /** What others have published, as it is now. */
  foreignDevices(): ForeignDevice[]
  /**
   * What others have published of the plugin is this host's from now on. Answers true when the plugin was another host's until
   * now, and there was no room for all that others have published: then it has to be read again.
   */
  takeOver(plugin: string): boolean
  /** What this host has published of the plugin is another one's from now on. */
  handOver(plugin: string): void
}

export interface PublishedDevicesSettings {
  /** There was no room for something that another host has published. */
  dropped(topic: string): void
  /** Whether ids of two plugins may be written alike. */
  mayCollide(plugin: string, other: string): boolean
  /** Whether the first of two plugins keeps an id that hosts have given to both at once. Every host says the same. */
  precedes(plugin: string, other: string): boolean
  /** An id that this host has given to the plugin is another one's, or a topic: it is to be announced anew. */
  lost(plugin: string): void
}

export function createPublishedDevices(settings: PublishedDevicesSettings): PublishedDevices {
  const { dropped, mayCollide, precedes, lost } = settings
  /** By plugin, or plugin and device. */
  const published = new Map<string, PublishedDevice>()
  /** The keys of those, by topic. */
  const keyOfTopic = new Map<string, string>()
  /** And by plugin. */
  const keysOfPlugin = new Map<string, Set<string>>()
  /** What other hosts of the fleet have published, by topic: whoever takes a plugin over goes on from there. */
  const foreign = new Map<string, ForeignDevice>()
  let foreignBytes = 0
  /** Something of those was dropped since all of them were read. */
  let isIncomplete = false
  /** Plugins that this host has taken over. */
  const taken = new Set<string>()
  /** What has had a `unique_id` first; of one plugin what has it last, as an exposure may go to another device. */
  const byUniqueId = new Map<string, ForeignDevice | PublishedDevice>()

  function claim(entry: ForeignDevice | PublishedDevice): void {
    for (const uniqueId of entry.uniqueIds?.values() ?? [])
      if (!isTaken(uniqueId, entry.plugin) || isWon(uniqueId, entry)) byUniqueId.set(uniqueId, entry)
  }

  /** Two hosts may have given it before either has heard of the other. */
  function isWon(uniqueId: string, { plugin, topic }: ForeignDevice | PublishedDevice): boolean {
    const holder = byUniqueId.get(uniqueId)
    const own = holder === undefined ? undefined : published.get(keyOf(holder))
    if (own === undefined || own !== holder || !foreign.has(topic) || !precedes(plugin, own.plugin))
      return false
    delete own.sources
    lost(own.plugin)
    return true
  }

  function release(entry: ForeignDevice | PublishedDevice | undefined): void {
    for (const uniqueId of entry?.uniqueIds?.values() ?? [])
      if (byUniqueId.get(uniqueId) === entry) byUniqueId.delete(uniqueId)
  }

  function isTaken(uniqueId: string, plugin: string): boolean {
    return (byUniqueId.get(uniqueId)?.plugin ?? plugin) !== plugin
  }

  function keep(entry: PublishedDevice): void {
    const key = keyOf(entry)
    forget(key)
    published.set(key, entry)
    keyOfTopic.set(entry.topic, key)
    getOrInsert(keysOfPlugin, entry.plugin, () => new Set()).add(key)
    claim(entry)
  }

  function forget(key: string): void {
    const entry = published.get(key)
    if (entry === undefined) return
    if (keyOfTopic.get(entry.topic) === key) keyOfTopic.delete(entry.topic)
    const keys = keysOfPlugin.get(entry.plugin)
    if (keys?.delete(key) === true && keys.size === 0) keysOfPlugin.delete(entry.plugin)
    published.delete(key)
    release(entry)
  }

  function ofPlugin(plugin: string): [key: string, entry: PublishedDevice][] {
    return [...(keysOfPlugin.get(plugin) ?? [])].flatMap((key) => {
      const entry = published.get(key)
      return entry === undefined ? [] : [[key, entry]]
    })
  }

  function keepForeign(entry: ForeignDevice): void {
    const own = published.get(keyOfTopic.get(entry.topic) ?? '')
    if (own !== undefined && own.plugin !== entry.plugin && !foreign.has(entry.topic)) {
      own.isOverwritten = true
      delete own.sources
      lost(own.plugin)
    }
    forgetForeign(entry.topic)
    foreign.set(entry.topic, entry)
    foreignBytes += sizeOf(entry)
    claim(entry)
    if (entry.isUnread === true && isLikeOwn(entry.plugin)) read(entry)
    while (foreign.size > foreignLimit || foreignBytes > foreignBytesLimit) dropOldest()
  }

  function isLikeOwn(plugin: string): boolean {
    for (const own of keysOfPlugin.keys()) if (mayCollide(own, plugin)) return true
    return false
  }

  function read(entry: ForeignDevice): void {
    const found = entry.read()
    if (found === undefined || keyOf(found) !== keyOf(entry)) forgetForeign(entry.topic)
    else keepForeign({ ...entry, uniqueIds: found.uniqueIds, isUnread: false, read: () => found })
  }

  function dropOldest(): void {
    const [oldest] = foreign.values()
    if (oldest === undefined) return
    forgetForeign(oldest.topic)
    isIncomplete = true
    dropped(oldest.topic)
  }

  function forgetForeign(topic: string): ForeignDevice | undefined {
    const entry = foreign.get(topic)
    if (entry === undefined) return undefined
    release(entry)
    foreign.delete(topic)
    foreignBytes -= sizeOf(entry)
    return entry
  }

  return {
    get: (key) => published.get(key),
    keyAt: (topic) => keyOfTopic.get(topic),
    isTaken,
    keep,
    forget,
    all: () => published.values(),
    ofPlugin,
    keepForeign,
    readPossibleCollisions(plugin) {
      for (const entry of foreign.values())
        if (entry.isUnread === true && mayCollide(plugin, entry.plugin)) read(entry)
    },
    forgetForeign,
    foreignAt: (topic) => foreign.get(topic),
    foreignDevices: () => [...foreign.values()],
    takeOver(plugin) {
      for (const [topic, entry] of foreign) {
        if (entry.plugin !== plugin) continue
        forgetForeign(topic)
        const found = entry.read()
        if (found !== undefined && keyOf(found) === keyOf(entry)) keep(found)
      }
      if (taken.has(plugin)) return false
      taken.add(plugin)
      const isToBeRead = isIncomplete
      isIncomplete = false
      return isToBeRead
    },
    handOver(plugin) {
      taken.delete(plugin)
      for (const [key, entry] of ofPlugin(plugin)) {
        forget(key)
        const { device, topic, text, uniqueIds } = entry
        keepForeign({ plugin, device, topic, uniqueIds, bytes: text.length, read: () => entry })
      }
    },
  }
}

const sizeOf = ({ topic, bytes }: ForeignDevice): number => topic.length + bytes

/** Key of a device: its plugin, or plugin and device. */
export const keyOf = ({ plugin, device }: DeviceAddress): string =>
  device === undefined ? plugin : `${plugin}/${device}`

/** The device that a message on this topic announces, if it is one of this host's, or this fleet's. */
export function readPublished(
  topic: string,
  payload: Uint8Array,
  hostId: string,
): PublishedDevice | undefined {
  const found = readDevice(payload, hostId)
  if (found === undefined) return undefined
  const { plugin, device, platforms, uniqueIds } = found
  return { plugin, device, topic, text: Buffer.from(payload).toString(), platforms, uniqueIds }
}
