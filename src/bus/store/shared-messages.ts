import { brokerRecordKey, encodeBrokerRecord } from '../../schema/files/broker-record.ts'
import type { StoredPacket } from './stored-packet.ts'
import type { WriteBehind } from './write-behind.ts'

/** A message that waits for several clients, and is kept once for all of them; see `Shared` in "broker-record.ts". */
export interface SharedMessage {
  /** It does not wait for this client any more. Answers whether what is on disk says that it does. */
  leave(number: number): boolean
  /** Has it written anew, without those that have left. */
  rewrite(): void
}

export function createSharedMessage(
  { number, clients, isOnDisk }: { number: number; clients: readonly (string | null)[]; isOnDisk: boolean },
  { topic, qos, payload }: Pick<StoredPacket, 'topic' | 'qos' | 'payload'>,
  disk: Pick<WriteBehind, 'set' | 'delete'>,
): SharedMessage {
  const key = brokerRecordKey('shared', number)
  const waiting = [...clients]
  let left = waiting.filter((client) => client !== null).length
  let mayBeOnDisk = isOnDisk

  function encode(): Buffer {
    mayBeOnDisk = true
    return encodeBrokerRecord({ kind: 'shared', number, topic, qos, clients: waiting, payload })
  }

  const rewrite = (): void => disk.set(key, encode)
  rewrite()
  return {
    rewrite,
    leave(gone) {
      waiting[gone - number] = null
      left -= 1
      if (left === 0) disk.delete(key)
      return mayBeOnDisk && left > 0
    },
  }
}
