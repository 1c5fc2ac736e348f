import type { LogFields } from '../base/log.ts'
import { filterMatches, hasWildcard } from '../base/topic-filter.ts'
import { brokerRecordKey, encodeBrokerRecord, type RetainedRecord } from '../schema/broker-record.ts'
import { mayStayRetained } from '../schema/topic-rights.ts'
import type { StoredPacket } from './broker-store.ts'
import type { Publisher, RetainedLedger } from './retained-ledger.ts'
import type { WriteBehind } from './write-behind.ts'

export interface RetainedMessagesSettings {
  /** First level(s) of the host's own topics. */
  root: string
  /** Says for which messages there is room. */
  ledger: RetainedLedger
  disk: Pick<WriteBehind, 'set' | 'delete'>
  warn: (message: string, fields?: LogFields) => void
}

export type RetainedMessages = ReturnType<typeof createRetainedMessages>

/**
 * What is retained at the embedded broker. What the host retains itself is not kept on disk: it says all of that anew
 * after a start, and what it does not say then is not true any more.
 */
export function createRetainedMessages({ root, ledger, disk, warn }: RetainedMessagesSettings) {
  const packets = new Map<string, StoredPacket>()

  function put(packet: StoredPacket, publisher: Publisher): boolean {
    const { topic, qos } = packet
    const key = brokerRecordKey('retained', topic)
    packets.delete(topic)
    if (packet.payload.length === 0) ledger.free(topic)
    if (packet.payload.length === 0 || !ledger.keep(topic, packet.payload.length, publisher)) {
      disk.delete(key)
      return packet.payload.length === 0
    }
    // Copied: what came from the network is a slice of a much larger buffer.
    const payload = Buffer.from(packet.payload)
    packets.set(topic, { ...packet, payload })
    if (publisher.kind === 'host') disk.delete(key)
    else disk.set(key, () => encodeBrokerRecord({ kind: 'retained', topic, qos, publisher, payload }))
    return true
  }

  function* matching(filters: readonly string[]): Generator<StoredPacket> {
    const wildcards = filters.filter(hasWildcard)
    for (const filter of new Set(filters)) {
      const packet = hasWildcard(filter) ? undefined : packets.get(filter)
      if (packet !== undefined && !wildcards.some((other) => filterMatches(other, filter))) yield packet
    }
    if (wildcards.length === 0) return
    for (const [topic, packet] of packets) {
      if (wildcards.some((filter) => filterMatches(filter, topic))) yield packet
    }
  }

  return {
    /** Without room the older value of the topic goes all the same: it is not true any more. */
    keep(packet: StoredPacket, publisher: Publisher): void {
      if (put(packet, publisher)) return
      warn('A message was delivered but not retained: its publisher has as many retained as it may', {
        publisher,
        topic: packet.topic,
      })
    },
    /** What an earlier run has kept, as far as it would be taken today. */
    restore({ topic, qos, publisher, payload }: RetainedRecord): void {
      if (packets.has(topic) || !mayStayRetained(root, publisher.kind, topic)) return
      put({ cmd: 'publish', topic, payload, qos, retain: true }, publisher)
    },
    /** Those that a filter matches, as they are now. */
    matching,
    /**
     * For the broker, which sends these one by one and reads ahead: each tells what is retained at the moment it
     * is sent. Otherwise a subscriber could get a new message first, and the one that it replaced afterwards.
     */
    *views(filters: readonly string[]): Generator<object> {
      for (const { cmd, topic } of matching(filters)) {
        yield {
          cmd,
          topic,
          get qos() {
            return packets.get(topic)?.qos ?? 0
          },
          get payload() {
            return packets.get(topic)?.payload ?? Buffer.alloc(0)
          },
        }
      }
    },
    clear: () => packets.clear(),
  }
}
