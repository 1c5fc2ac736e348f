import { filterMatches } from '../../base/topic-filter.ts'
import type { StoredSubscription } from '../store/stored-packet.ts'
import { subscriptionsPerClientLimit } from '../broker-limits.ts'

type Qos = StoredSubscription['qos']

/** Which filters connected clients have, and with which QoS. A client is forgotten when nothing else holds it. */
export interface GrantedSubscriptions {
  /** False: the client has as many as it may. */
  grant(client: object, filter: string, qos: Qos): boolean
  revoke(client: object, filters: readonly string[]): void
  /**
   * The QoS with which a message comes to a client: that of the message, or less if none of the filters that match has
   * as much (MQTT-3.3.5-1). The broker itself takes whichever filter comes first.
   */
  qosFor(client: object, topic: string, qos: Qos): Qos
}

export function createGrantedSubscriptions(): GrantedSubscriptions {
  const granted = new WeakMap<object, { filters: Map<string, Qos>; lowest: Qos }>()

  return {
    grant(client, filter, qos) {
      const held = granted.get(client) ?? { filters: new Map<string, Qos>(), lowest: 2 }
      if (!held.filters.has(filter) && held.filters.size >= subscriptionsPerClientLimit) return false
      held.filters.set(filter, qos)
      if (qos < held.lowest) held.lowest = qos
      granted.set(client, held)
      return true
    },
    revoke(client, filters) {
      for (const filter of filters) granted.get(client)?.filters.delete(filter)
    },
    qosFor(client, topic, qos) {
      const held = granted.get(client)
      // Most clients use one QoS for everything.
      if (held === undefined || held.lowest >= qos) return qos
      let best: Qos | undefined
      for (const [filter, given] of held.filters) {
        if (given <= (best ?? -1) || !filterMatches(filter, topic)) continue
        if (given >= qos) return qos
        best = given
      }
      return best ?? qos
    },
  }
}
