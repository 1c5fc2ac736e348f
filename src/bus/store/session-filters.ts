import { hidesDollar } from '../../base/topic-filter.ts'
import { bytesOfFilter } from '../broker-limits.ts'
import { createTopicMatcher } from '../topic-matcher.ts'
import type { Session } from './session.ts'
import type { SessionSubscription, StoredSubscription } from './stored-packet.ts'

/** The filters of all sessions: whom a message waits for is asked for each one of QoS 1 or 2. */
export interface SessionFilters {
  /** Bytes of memory that all of them take, about. */
  readonly bytes: number
  /** In place of one with the same topic, if there is one. */
  add(session: Session, subscription: StoredSubscription): void
  /** Answers whether there was one. */
  remove(session: Session, topic: string): boolean
  /** Of each client one that matches and has a QoS above 0, the highest. */
  waitingFor(topic: string): SessionSubscription[]
  /** How much it is to keep a message on this topic: in sessions, as many as it would wait for at least. */
  cost(topic: string): number
}

export function createSessionFilters(): SessionFilters {
  const subscribers = createTopicMatcher<SessionSubscription>()
  let bytes = 0

  function remove({ subscriptions }: Session, topic: string): boolean {
    const gone = subscriptions.get(topic)
    if (gone === undefined) return false
    subscriptions.delete(topic)
    bytes -= bytesOfFilter(topic)
    if (gone.qos > 0) subscribers.remove(topic, gone)
    return true
  }

  return {
    get bytes() {
      return bytes
    },
    add(session, { topic, qos }) {
      remove(session, topic)
      const subscription = { topic, qos, clientId: session.client }
      session.subscriptions.set(topic, subscription)
      bytes += bytesOfFilter(topic)
      if (qos > 0) subscribers.add(topic, subscription)
    },
    remove,
    cost: subscribers.cost,
    waitingFor(topic) {
      const best = new Map<string, SessionSubscription>()
      for (const one of subscribers.match(topic)) {
        if (hidesDollar(one.topic, topic) || one.qos <= (best.get(one.clientId)?.qos ?? 0)) continue
        best.set(one.clientId, one)
      }
      return [...best.values()]
    },
  }
}
