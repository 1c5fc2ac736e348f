import type { LogFields } from '../../base/log/log.ts'
import { brokerRecordKey, encodeBrokerRecord, type RetainedRecord } from '../../schema/files/broker-record.ts'
import { mayStayRetained } from '../../schema/manifest/topic-rights.ts'
import { searchTopics } from './retained-search.ts'
import type { StoredPacket } from './stored-packet.ts'
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

/** One that may take long. */
export interface RetainedSearch {
  /** Resolves when it may go on; false: nobody wants it any more. */
  nextTurn(): Promise<boolean>
  end(): void
}

/** What is retained on a topic; another message there changes it in place. */
interface Kept {
  packet: StoredPacket
  publisher: Publisher
  /** How it is called on disk, and what it is there. */
  readonly key: string
  readonly encode: () => Buffer
}

/**
 * What is retained at the embedded broker. What the host retains itself is not kept on disk: it says all of that anew
 * after a start, and what it does not say then is not true any more.
 */
export function createRetainedMessages({ root, ledger, disk, warn }: RetainedMessagesSettings) {
  const topics = new Map<string, Kept>()

  function keptOn(topic: string, packet: StoredPacket, publisher: Publisher): Kept {
    const present = topics.get(topic)
    if (present !== undefined) return Object.assign(present, { packet, publisher })
    const kept: Kept = {
      packet,
      publisher,
      key: brokerRecordKey('retained', topic),
      encode: () => encode(kept),
    }
    topics.set(topic, kept)
    return kept
  }

  function forget(topic: string): void {
    topics.delete(topic)
    disk.delete(brokerRecordKey('retained', topic))
  }

  /** False: there is no room for it. */
  function put({ cmd, topic, qos, payload }: StoredPacket, publisher: Publisher): boolean {
    if (payload.length === 0) {
      ledger.free(topic)
      forget(topic)
      return true
    }
    if (!ledger.keep(topic, payload.length, publisher)) {
      forget(topic)
      return false
    }
    // Copied: what came from the network is a slice of a much larger buffer.
    const packet: StoredPacket = { cmd, topic, qos, payload: Buffer.from(payload), retain: true }
    const kept = keptOn(topic, packet, publisher)
    if (publisher.kind === 'host') disk.delete(kept.key)
    else disk.set(kept.key, kept.encode)
    return true
  }

  function* matching(filters: readonly string[]): Generator<StoredPacket> {
    for (const topic of searchTopics(filters, topics)) {
      const kept = topic === undefined ? undefined : topics.get(topic)
      if (kept !== undefined) yield kept.packet
    }
  }

  /** What is retained on a topic at the moment at which it is asked for. */
  const viewOf = (topic: string): object => ({
    cmd: 'publish',
    topic,
    get qos() {
      return topics.get(topic)?.packet.qos ?? 0
    },
    get payload() {
      return topics.get(topic)?.packet.payload ?? Buffer.alloc(0)
    },
  })

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
      if (topics.has(topic) || !mayStayRetained(root, publisher.kind, topic)) return
      put({ cmd: 'publish', topic, payload, qos, retain: true }, publisher)
    },
    /** Those that a filter matches, as they are now. */
    matching,
    /**
     * For the broker, which sends these one by one and reads ahead: each tells what is retained at the moment it
     * is sent. Otherwise a subscriber could get a new message first, and the one that it replaced afterwards.
     */
    async *views(filters: readonly string[], search: RetainedSearch): AsyncGenerator<object> {
      try {
        for (const topic of searchTopics(filters, topics)) {
          if (topic !== undefined) yield viewOf(topic)
          else if (!(await search.nextTurn())) return
        }
      } finally {
        search.end()
      }
    },
    clear: () => topics.clear(),
  }
}

function encode({ packet: { topic, qos, payload }, publisher }: Kept): Buffer {
  if (publisher.kind === 'host') throw new Error('What the host retains is not kept on disk')
  return encodeBrokerRecord({ kind: 'retained', topic, qos, publisher, payload })
}
