import type { SharedMessage } from './shared-messages.ts'
import type { SessionSubscription, StoredPacket } from './stored-packet.ts'

/** The largest message id of the protocol. */
const messageIdLimit = 65_535

/** Numbered in the order of arrival, over all sessions. */
export interface Queued {
  readonly number: number
  /** The same object for several clients, until it is sent. */
  packet: StoredPacket
  /** Where it is kept; absent: in a record of its own. */
  shared?: SharedMessage | undefined
}

/** What is kept for one client. */
export interface Session {
  client: string
  number: number
  subscriptions: Map<string, SessionSubscription>
  queue: Queued[]
  queuedBytes: number
  /** What has been sent, by its message id. */
  sent: Map<number, Queued>
  /** The message id that was given last. The next one follows: the client may still hold a message that has given way meanwhile, and would take another one with its id for that. */
  lastId: number
  /** It was read from the disk. */
  isRead: boolean
  /** Of shared messages on disk those with a lower number do not wait for it. */
  sharedFrom: number
}

export function createSession(client: string, number: number, isRead: boolean): Session {
  const held = { subscriptions: new Map(), queue: [], queuedBytes: 0, sent: new Map(), lastId: 0 }
  return { client, number, ...held, isRead, sharedFrom: 0 }
}

/** The oldest of its messages that is kept together with those of others. */
export function firstShared({ queue }: Session): Queued | undefined {
  return queue.find(({ shared }) => shared !== undefined)
}

/** The id of a message that is being sent; another one if this is that of a message sent before. */
export function freeMessageId({ sent, lastId }: Session, queued: Queued, wanted = lastId + 1): number {
  let id = wanted > messageIdLimit ? 1 : wanted
  while ((sent.get(id) ?? queued) !== queued) id = (id % messageIdLimit) + 1
  return id
}

/** The broker sends it on as it is. */
export function releaseOf(messageId: number): StoredPacket {
  return { cmd: 'pubrel', topic: '', payload: Buffer.alloc(0), qos: 0, retain: false, messageId }
}
