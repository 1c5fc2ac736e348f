import { brokerRecordKey, encodeBrokerRecord } from '../../schema/files/broker-record.ts'
import { firstShared, type Queued, type Session } from './session.ts'
import type { WriteBehind } from './write-behind.ts'

/** What of sessions is on disk; messages that several of them share keep themselves ("shared-messages.ts"). */
export interface SessionRecords {
  /** Which there are, and their subscriptions. */
  keep(session: Session): void
  /** Which of the shared messages wait for it no more. */
  keepPosition(session: Session): void
  /** The message has come, or has got further. */
  keepQueued(session: Session, queued: Queued): void
  /** What a session shares is in a record of its own now, or waits for it no more. */
  leaveShared(session: Session, queued: Queued): void
  /** The message waits no more. */
  drop(session: Session, queued: Queued): void
  /** Nothing of the session stays. */
  forget(session: Session): void
}

/** `nextNumber`: no message that comes from now on has a lower one. */
export function createSessionRecords(
  disk: Pick<WriteBehind, 'set' | 'delete'>,
  nextNumber: () => number,
): SessionRecords {
  function keepPosition(session: Session): void {
    const { client } = session
    disk.set(brokerRecordKey('position', client), () => {
      const number = firstShared(session)?.number ?? nextNumber()
      return encodeBrokerRecord({ kind: 'position', client, number })
    })
  }

  function leaveShared(session: Session, queued: Queued): void {
    const { shared } = queued
    queued.shared = undefined
    if (shared?.leave(queued.number) !== true) return
    // Mostly they leave in the order of their arrival.
    if ((firstShared(session)?.number ?? Infinity) > queued.number) keepPosition(session)
    else shared.rewrite()
  }

  return {
    keep(session) {
      const { client, number, subscriptions } = session
      disk.set(brokerRecordKey('session', client), () =>
        encodeBrokerRecord({
          kind: 'session',
          client,
          number,
          subscriptions: [...subscriptions.values()].map(({ topic, qos }) => ({ topic, qos })),
        }),
      )
    },
    keepPosition,
    keepQueued({ client }, queued) {
      const { number } = queued
      disk.set(brokerRecordKey('queued', number), () => {
        const { cmd, topic, qos, payload, retain, messageId } = queued.packet
        if (cmd !== 'publish' && messageId !== undefined)
          return encodeBrokerRecord({ kind: 'released', client, number, messageId })
        const sent = messageId === undefined ? {} : { messageId }
        const flag = retain ? { retain } : {}
        return encodeBrokerRecord({ kind: 'queued', client, number, topic, qos, ...sent, ...flag, payload })
      })
    },
    leaveShared,
    drop(session, queued) {
      if (queued.shared === undefined) disk.delete(brokerRecordKey('queued', queued.number))
      else leaveShared(session, queued)
    },
    forget({ client, queue }) {
      disk.delete(brokerRecordKey('session', client))
      disk.delete(brokerRecordKey('position', client))
      for (const { number, shared } of queue) {
        // What is shared may name it still: the session that has this id next has a higher number.
        if (shared === undefined) disk.delete(brokerRecordKey('queued', number))
        else shared.leave(number)
      }
    },
  }
}
