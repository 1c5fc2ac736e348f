import type { Client, PublishPacket } from 'aedes'
import { pauseReading } from './pause-reading.ts'

/** Messages of one client that may wait for the disk; what it sends next is read when all of them are confirmed. */
export const waitingConfirmationsLimit = 1_000

/** First byte of a PUBACK, and how many follow its length. */
const puback = 0x40
const idBytes = 2

export interface AcknowledgementSettings {
  /** Whether a message on this topic is kept for sessions. */
  waitsForSessions: (topic: string) => boolean
  /** See `WriteBehind`. */
  written: () => Promise<void> | undefined
  /** Ends the connection of a client that does not read what is confirmed. */
  cutOffIfSlow: (client: Client) => boolean
  /** Calls back when all subscribers have it; it is kept before this returns. */
  publish: (packet: PublishPacket, client: Client, done: (error?: Error) => void) => void
}

/** What waits of one client. */
interface Waiting {
  count: number
  readOn: (() => void) | undefined
}

/**
 * A message is confirmed when all that it changes of what is kept is on disk: the broker library does so of one of QoS 1 before it hands it to anybody,
 * and of one of QoS 2 when it is in memory.
 */
export function createAcknowledgements({
  waitsForSessions,
  written,
  cutOffIfSlow,
  publish,
}: AcknowledgementSettings) {
  const waiting = new WeakMap<Client, Waiting>()
  const isKept = ({ topic, retain }: PublishPacket): boolean => retain || waitsForSessions(topic)

  function confirm(client: Client, id: number): void {
    if (!cutOffIfSlow(client)) client.conn.write(Buffer.from([puback, idBytes, id >> 8, id & 0xff]))
  }

  /** They go out in the order in which the messages came (MQTT-4.6.0-2), as who waits is called back in that order. */
  async function confirmAfter(until: Promise<void>, client: Client, id: number): Promise<void> {
    const present = waiting.get(client) ?? { count: 0, readOn: undefined }
    waiting.set(client, present)
    present.count += 1
    if (present.count >= waitingConfirmationsLimit) present.readOn ??= pauseReading(client.conn)
    await until
    confirm(client, id)
    present.count -= 1
    if (present.count > 0) return
    waiting.delete(client)
    present.readOn?.()
  }

  return {
    /**
     * Takes a message of QoS 1 over from the broker library, also one that nobody keeps: that publishes it a turn later, when one that came after it
     * and is kept would have overtaken it. It waits for the disk only if it is kept, or if others have to be confirmed before it.
     */
    take(client: Client, packet: PublishPacket): boolean {
      const { qos, messageId } = packet
      if (qos !== 1 || messageId === undefined) return false
      const waits = isKept(packet) || waiting.has(client)
      publish(packet, client, (error) => void setImmediate(readOn, client, error))
      const until = waits ? written() : undefined
      if (until === undefined) confirm(client, messageId)
      else void confirmAfter(until, client, messageId)
      return true
    },
    /** When a message of QoS 2 that has been published may be confirmed; undefined: at once. */
    ready: (client: Client | null, packet: PublishPacket): Promise<void> | undefined =>
      client !== null && packet.qos === 2 && (!client.clean || isKept(packet)) ? written() : undefined,
  }
}

export type Acknowledgements = ReturnType<typeof createAcknowledgements>

/** A packet is done. Not in the library's types, which does so itself after each that it handles. */
function readOn(client: Client, error: Error | undefined): void {
  Reflect.apply(Reflect.get(client, '_nextBatch') as (error?: Error) => void, client, [error])
}
