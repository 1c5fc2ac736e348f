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
  disk: Pick<WriteBehind, 'set' | 'delete' | 'writes'>,
): SharedMessage {
  const key = brokerRecordKey('shared', number)
  const since = disk.writes
  /** By their places, those that have left: in which write, or after it. */
  const leftIn: number[] = []
  let left = clients.filter((client) => client !== null).length

  /** Whoever leaves while it is being written has its record of its own in the next write only. */
  const isGone = (place: number): boolean => (leftIn[place] ?? Infinity) < disk.writes

  function rewrite(): void {
    if (left === 0) return
    disk.set(key, () => {
      const waiting = clients.map((client, place) => (isGone(place) ? null : client))
      return encodeBrokerRecord({ kind: 'shared', number, topic, qos, clients: waiting, payload })
    })
  }

  rewrite()
  return {
    rewrite,
    leave(gone) {
      leftIn[gone - number] = disk.writes
      left -= 1
      if (left === 0) disk.delete(key)
      return (isOnDisk || disk.writes > since) && left > 0
    },
  }
}
