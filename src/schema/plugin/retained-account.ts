/**
 * What one publisher has retained at a broker. A pure count, by which the broker, the host and the workers decide
 * alike whether there is room for more.
 */

export interface RetainedLimits {
  topics: number
  /** Of topics and payloads together. */
  bytes: number
}

const mebi = 1024 * 1024

/** Of one plugin, over all its loads: what it retains stays when it is unloaded. */
export const pluginRetainedLimits: RetainedLimits = { topics: 1_000, bytes: 8 * mebi }

/** Says to the author of a plugin why a message was not published. */
export function retainedSentence(topic: string): string {
  const { topics, bytes } = pluginRetainedLimits
  return (
    `nothing more is retained, so nothing was published to ${JSON.stringify(topic)}: a plugin may have ` +
    `${topics} retained topics with ${bytes / mebi} MiB together; an empty payload with retain = true gives one back`
  )
}

export interface RetainedAccount {
  readonly topics: number
  /** Whether a message fits, in place of the one that is retained on this topic. `payload`: bytes, not 0. */
  hasRoom(topic: string, payload: number): boolean
  /** Counts a message, whether or not it fits. */
  set(topic: string, payload: number): void
  /** The topic is cleared, or somebody else's. */
  delete(topic: string): void
  /**
   * Counts what a publisher retains; an empty payload clears the topic. False: there is no room, and nothing has
   * changed. `share`: the part of each limit that may be used.
   */
  take(topic: string, payload: number, share?: number): boolean
  /** Topics, with the bytes of their payloads. */
  entries(): [topic: string, payload: number][]
}

export function createRetainedAccount(
  limits: RetainedLimits,
  entries: Iterable<readonly [topic: string, payload: number]> = [],
): RetainedAccount {
  const payloads = new Map<string, number>()
  let bytes = 0

  const sizeOf = (topic: string, payload: number): number => Buffer.byteLength(topic) + payload

  function forget(topic: string): void {
    const payload = payloads.get(topic)
    if (payload === undefined) return
    payloads.delete(topic)
    bytes -= sizeOf(topic, payload)
  }

  function set(topic: string, payload: number): void {
    forget(topic)
    payloads.set(topic, payload)
    bytes += sizeOf(topic, payload)
  }

  function hasRoom(topic: string, payload: number, share = 1): boolean {
    const before = payloads.get(topic)
    const topics = payloads.size + (before === undefined ? 1 : 0)
    const without = bytes - (before === undefined ? 0 : sizeOf(topic, before))
    return topics <= limits.topics * share && without + sizeOf(topic, payload) <= limits.bytes * share
  }

  for (const [topic, payload] of entries) set(topic, payload)
  return {
    get topics() {
      return payloads.size
    },
    hasRoom,
    set,
    delete: forget,
    take(topic, payload, share) {
      if (payload === 0) forget(topic)
      else if (hasRoom(topic, payload, share)) set(topic, payload)
      else return false
      return true
    },
    entries: () => [...payloads],
  }
}
