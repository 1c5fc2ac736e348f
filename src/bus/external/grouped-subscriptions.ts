import type { IPublishPacket, MqttClient } from 'mqtt'
import { hidesDollar, withoutShare } from '../../base/topic-filter.ts'
import type { BusMessage, BusSubscription, SubscribeOptions } from '../bus.ts'
import type { Inbox, InboxEntry } from '../inbox.ts'
import { createTopicMatcher } from '../topic-matcher.ts'
import { type Quarantine, subscriptionTo, type Subject } from './quarantine.ts'

/** All host subscriptions with one filter; for the broker they are one. */
interface Group {
  filter: string
  members: Set<InboxEntry>
  /** Full id of the plugin to which all of them belong. */
  plugin: string | undefined
  qos: 0 | 2
  /** MQTT 5 identifiers of the requests for it, oldest first. */
  requests: number[]
  /** It was not requested, as the connection ends with it. */
  isHeld: boolean
}

/** One SUBSCRIBE: what the broker had retained comes back with its identifier, and is for those who asked. */
interface Request {
  group: Group
  asking: readonly InboxEntry[]
}

/** Identifiers kept for one filter, although nobody waits for what comes with them: it may still be on its way. */
const requestsKept = 8

/** What the host has subscribed to at another broker, over connections that come and go. */
export interface GroupedSubscriptions {
  add(filter: string, handler: (message: BusMessage) => void, options?: SubscribeOptions): BusSubscription
  /**
   * There is a connection: everything is subscribed to anew. Version 5: with identifiers, which not every broker takes. Resolves
   * when the broker has answered all of it, or is gone.
   */
  open(client: MqttClient, protocolVersion: 4 | 5): Promise<void>
  /** What was kept back may be tried again. */
  retry(): void
  /** The connection is gone. */
  pause(): void
  /** A message of the broker, to those whose it is. */
  deliver(topic: string, payload: Buffer, packet: IPublishPacket): void
  close(): void
}

/** `refused`: the broker does not allow it. */
export function createGroupedSubscriptions(
  inbox: Inbox,
  quarantine: Quarantine,
  refused: (filter: string, error: Error) => void,
): GroupedSubscriptions {
  const groups = new Map<string, Group>()
  /** The same, by what each is to. */
  const matcher = createTopicMatcher<Group>()
  const requests = new Map<number, Request>()
  let nextIdentifier = 1
  let connection: { client: MqttClient; protocolVersion: 4 | 5 } | undefined

  const subjectOf = ({ filter, plugin }: Group): Subject => ({
    topic: subscriptionTo(filter),
    publisher: plugin,
  })
  const isSuspected = (group: Group): boolean => quarantine.admission(subjectOf(group), 0) === 'alone'
  const isCurrent = (client: MqttClient): boolean => connection?.client === client

  function begin(filter: string, plugin: string | undefined): Group {
    const group: Group = { filter, members: new Set(), plugin, qos: 0, requests: [], isHeld: false }
    groups.set(filter, group)
    matcher.add(withoutShare(filter), group)
    return group
  }

  /** Resolves when the broker has answered, or is gone. */
  async function request(group: Group, asking: readonly InboxEntry[]): Promise<void> {
    if (connection === undefined || groups.get(group.filter) !== group) return
    const { client, protocolVersion } = connection
    const subject = subjectOf(group)
    const admission = quarantine.admission(subject, 0)
    group.isHeld = admission === 'held'
    if (group.isHeld) return
    if (admission !== 'free') quarantine.sent(subject, 0)
    const identifier = nextIdentifier++
    requests.set(identifier, { group, asking })
    group.requests.push(identifier)
    forgetOld(group)
    const properties = protocolVersion === 5 ? { properties: { subscriptionIdentifier: identifier } } : {}
    await new Promise<void>((resolve) => {
      client.subscribe(group.filter, { qos: group.qos, ...properties }, (error) => {
        resolve()
        if (!isCurrent(client)) return
        quarantine.answered([subject])
        if (error) refused(group.filter, error)
      })
    })
  }

  /** Nobody knows when all that was retained has come to whoever has asked: their requests stay for as long as they do. */
  function forgetOld(group: Group): void {
    const firstKept = group.requests.length - requestsKept
    group.requests = group.requests.filter((identifier, index) => {
      const asking = requests.get(identifier)?.asking ?? []
      const isKept = index >= firstKept || asking.some((member) => group.members.has(member))
      if (!isKept) requests.delete(identifier)
      return isKept
    })
  }

  function requestsFor(topic: string, packet: IPublishPacket): Request[] {
    const identifiers = packet.properties?.subscriptionIdentifier
    if (identifiers === undefined) {
      // An older broker does not say. Then those who subscribed before see retained messages again; and one
      // that sends a message once for each of several overlapping filters is taken to have several messages.
      return matcher
        .match(topic)
        .filter(({ filter }) => !hidesDollar(withoutShare(filter), topic))
        .map((group) => ({ group, asking: [...group.members] }))
    }
    const all = Array.isArray(identifiers) ? identifiers : [identifiers]
    return all.flatMap((identifier: number) => requests.get(identifier) ?? [])
  }

  return {
    add(filter, handler, options) {
      const plugin = options?.plugin
      const group = groups.get(filter) ?? begin(filter, plugin)
      if (group.plugin !== plugin) group.plugin = undefined
      if (options?.qos !== 0) group.qos = 2
      const member = inbox.open(handler, options)
      group.members.add(member)
      void request(group, [member])
      return {
        async close() {
          if (!member.close()) return
          group.members.delete(member)
          if (group.members.size > 0 || groups.get(filter) !== group) return
          groups.delete(filter)
          matcher.remove(withoutShare(filter), group)
          for (const identifier of group.requests) requests.delete(identifier)
          // Where it was kept back the broker has not been asked for it, and may end the connection over this, too.
          if (group.requests.length > 0) connection?.client.unsubscribe(filter)
        },
      }
    },
    async open(client, protocolVersion) {
      connection = { client, protocolVersion }
      requests.clear()
      for (const group of groups.values()) group.requests = []
      const suspected = [...groups.values()].filter(isSuspected)
      const others = [...groups.values()].filter((group) => !suspected.includes(group))
      await Promise.all(others.map((group) => request(group, [...group.members])))
      for (const group of suspected) if (isCurrent(client)) await request(group, [...group.members])
    },
    retry() {
      for (const group of groups.values()) if (group.isHeld) void request(group, [...group.members])
    },
    pause() {
      connection = undefined
    },
    deliver(topic, payload, packet) {
      for (const { group, asking } of requestsFor(topic, packet)) {
        for (const member of packet.retain ? asking : group.members) {
          member.push({ topic, payload, qos: packet.qos, retained: packet.retain })
        }
      }
    },
    close() {
      connection = undefined
      groups.clear()
      requests.clear()
    },
  }
}
