import {
  type PositionRecord,
  type QueuedRecord,
  type ReleasedRecord,
  type SessionRecord,
  type SharedRecord,
} from '../../schema/files/broker-record.ts'
import { maySubscribe } from '../../schema/manifest/topic-rights.ts'
import { subscriptionsPerClientLimit } from '../broker-limits.ts'
import type { SessionFilters } from './session-filters.ts'
import type { SessionRecords } from './session-records.ts'
import { type Queued, releaseOf, type Session } from './session.ts'
import { createSharedMessage, type SharedMessage } from './shared-messages.ts'
import type { StoredPacket } from './stored-packet.ts'
import type { WriteBehind } from './write-behind.ts'

/** In place of the broker's id, for what an earlier run has kept. Its number is unique by itself. */
const restoredBrokerId = 'restored'

/** `number`: no other message of the session has it. */
const restoredPacket = (
  { topic, qos, payload }: Pick<QueuedRecord, 'topic' | 'qos' | 'payload'>,
  number: number,
): StoredPacket => ({
  ...{ cmd: 'publish', topic, payload, qos, retain: false },
  brokerId: restoredBrokerId,
  brokerCounter: number,
})

type KeptRecord = SessionRecord | PositionRecord | QueuedRecord | ReleasedRecord | SharedRecord

/** What of sessions an earlier run has kept, as far as it would be taken today. */
export interface SessionReader {
  /** Sessions come first, and what a client has by itself before what it shares. */
  restore(record: KeptRecord): void
  /** All has been told. */
  end(): void
}

export function createSessionReader(parts: {
  sessions: ReadonlyMap<string, Session>
  open: (client: string, number: number, isRead: boolean) => Session
  append: (session: Session, queued: Queued) => void
  /** This number, and each lower one, is given to nothing that comes. */
  seen: (number: number) => void
  filters: Pick<SessionFilters, 'add'>
  records: Pick<SessionRecords, 'keep' | 'keepPosition'>
  disk: Pick<WriteBehind, 'set' | 'delete' | 'writes'>
}): SessionReader {
  const { sessions, open, append, seen, filters, records, disk } = parts
  /** Of messages in records of a client's own: what is shared may name them as well. */
  const readAlone = new Set<number>()
  /** They name some that have them by themselves: the process was killed before it had written that. */
  const outdated = new Set<SharedMessage>()

  function restoreSession({ client, number, subscriptions }: SessionRecord): void {
    if (sessions.has(client)) return
    const session = open(client, number, true)
    const allowed = subscriptions.filter(({ topic }) => maySubscribe(topic))
    for (const one of allowed.slice(0, subscriptionsPerClientLimit)) filters.add(session, one)
    records.keep(session)
  }

  function restorePosition({ client, number }: PositionRecord): void {
    const session = sessions.get(client)
    if (session === undefined) return
    session.sharedFrom = number
    seen(number - 1)
    // The disk could not be read before, and this client has come back meanwhile: what it has got since may have a lower number.
    if (session.isRead) records.keepPosition(session)
  }

  function restoreAlone(record: QueuedRecord | ReleasedRecord): void {
    const { client, number } = record
    const session = sessions.get(client)
    if (session === undefined) return
    readAlone.add(number)
    // The disk could not be read before, and this client has come back meanwhile: what it is being sent has the id.
    const isTaken = record.messageId !== undefined && session.sent.has(record.messageId)
    if (record.kind === 'released' && isTaken) return
    const packet: StoredPacket =
      record.kind === 'released'
        ? releaseOf(record.messageId)
        : {
            ...restoredPacket(record, number),
            retain: record.retain ?? false,
            messageId: isTaken ? undefined : record.messageId,
          }
    append(session, { number, packet })
  }

  /** For whom something shared waits still. */
  function sharerOf(client: string | null, number: number): Session | undefined {
    const session = client === null ? undefined : sessions.get(client)
    if (session === undefined || number < session.sharedFrom) return undefined
    // It was for another session with this id.
    if (session.isRead && number < session.number) return undefined
    return readAlone.has(number) ? undefined : session
  }

  function restoreShared(record: SharedRecord): void {
    const { number } = record
    seen(number + record.clients.length - 1)
    const waiting = record.clients.map((client, place) => sharerOf(client, number + place))
    // The others have come back before this could be read, and have a number that is higher: they have it by themselves.
    const clients = waiting.map((session) => (session?.isRead === true ? session.client : null))
    const packet = restoredPacket(record, number)
    const isShared = clients.some((client) => client !== null)
    const shared = isShared
      ? createSharedMessage({ number, clients, isOnDisk: true }, packet, disk)
      : undefined
    if (shared !== undefined && waiting.some((_, place) => readAlone.has(number + place)))
      outdated.add(shared)
    for (const [place, session] of waiting.entries()) {
      if (session === undefined) continue
      append(session, { number: number + place, packet, ...(session.isRead ? { shared } : {}) })
    }
  }

  return {
    restore(record) {
      if (record.kind === 'session') restoreSession(record)
      else if (record.kind === 'position') restorePosition(record)
      else if (record.kind === 'shared') restoreShared(record)
      else restoreAlone(record)
    },
    end() {
      for (const shared of outdated) shared.rewrite()
      outdated.clear()
      readAlone.clear()
    },
  }
}
