import type { Duplex } from 'node:stream'
import { hidesDollar } from '../../base/topic-filter.ts'
import type { StoredSubscription } from '../store/stored-packet.ts'
import { bytesOfFilter, subscriptionBytesLimits, subscriptionsPerClientLimit } from '../broker-limits.ts'
import { createTopicMatcher, type TopicMatcher } from '../topic-matcher.ts'
import { createAddressQuota } from './address-quota.ts'

type Qos = StoredSubscription['qos']

interface Subscriber {
  readonly conn: Pick<Duplex, 'destroyed' | 'once'>
}

/** Which filters connected clients have, and with which QoS. What a client has ends with its connection. */
export interface GrantedSubscriptions {
  /** Why not, where the client, its address, or all clients together have as many as they may. */
  grant(client: Subscriber, filter: string, qos: Qos): string | undefined
  revoke(client: Subscriber, filters: readonly string[]): void
  /**
   * The QoS with which a message comes to a client: that of the message, or less if none of the filters that match has
   * as much (MQTT-3.3.5-1). The broker itself takes whichever filter comes first.
   */
  qosFor(client: Subscriber, topic: string, qos: Qos): Qos
}

interface Granted {
  readonly filter: string
  qos: Qos
}

/** What one client has. */
interface Held {
  readonly address: string
  readonly filters: Map<string, Granted>
  bytes: number
  /** Of all filters, as most clients use one for everything; or which filters have which. */
  qos: Qos | TopicMatcher<Granted>
}

/** `addressOf`: of all clients that count as one. */
export function createGrantedSubscriptions(
  addressOf: (client: Subscriber) => string,
  limits = subscriptionBytesLimits,
): GrantedSubscriptions {
  const granted = new WeakMap<Subscriber, Held>()
  const kept = createAddressQuota(limits)

  function count(held: Held, bytes: number): void {
    held.bytes += bytes
    kept.add(held.address, bytes)
  }

  function heldBy(client: Subscriber): Held {
    const present = granted.get(client)
    if (present !== undefined) return present
    const held: Held = { address: addressOf(client), filters: new Map(), bytes: 0, qos: 0 }
    granted.set(client, held)
    client.conn.once('close', () => {
      granted.delete(client)
      count(held, -held.bytes)
    })
    return held
  }

  function refusalOf({ filters, address }: Held, bytes: number): string | undefined {
    if (filters.size >= subscriptionsPerClientLimit) return 'the client has as many as it may'
    return kept.refusalOf(address, bytes)
  }

  function add({ filters, qos }: Held, fresh: Granted): Held['qos'] {
    filters.set(fresh.filter, fresh)
    if (typeof qos === 'object') qos.add(fresh.filter, fresh)
    return filters.size === 1 ? fresh.qos : qos
  }

  function matcherOf({ filters }: Held): TopicMatcher<Granted> {
    const matcher = createTopicMatcher<Granted>()
    for (const one of filters.values()) matcher.add(one.filter, one)
    return matcher
  }

  return {
    grant(client, filter, qos) {
      if (client.conn.destroyed) return 'its connection has ended'
      const held = heldBy(client)
      const present = held.filters.get(filter)
      if (present === undefined) {
        const bytes = bytesOfFilter(filter)
        const refusal = refusalOf(held, bytes)
        if (refusal !== undefined) return refusal
        count(held, bytes)
        held.qos = add(held, { filter, qos })
      } else present.qos = qos
      if (typeof held.qos === 'number' && held.qos !== qos) held.qos = matcherOf(held)
      return undefined
    },
    revoke(client, filters) {
      const held = granted.get(client)
      if (held === undefined) return
      for (const filter of filters) {
        const gone = held.filters.get(filter)
        if (gone === undefined) continue
        held.filters.delete(filter)
        if (typeof held.qos === 'object') held.qos.remove(filter, gone)
        count(held, -bytesOfFilter(filter))
      }
    },
    qosFor(client, topic, qos) {
      const held = granted.get(client)?.qos
      if (held === undefined) return qos
      if (typeof held === 'number') return held < qos ? held : qos
      let best: Qos | undefined
      for (const one of held.match(topic))
        if (one.qos > (best ?? -1) && !hidesDollar(one.filter, topic)) best = one.qos
      return best === undefined || best > qos ? qos : best
    },
  }
}
