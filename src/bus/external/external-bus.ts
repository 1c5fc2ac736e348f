import { randomBytes } from 'node:crypto'
import type { IConnackPacket, MqttClient } from 'mqtt'
import { type Clock, withDeadline } from '../../base/time/clock.ts'
import { waitAtMost } from '../../base/time/wait.ts'
import type { Logger } from '../../base/log/log.ts'
import { Problem } from '../../base/problem.ts'
import { commonVersion, type ProtocolVersion, roundTrip, senderFor, downgradeFor } from './broker-client.ts'
import { type BrokerConnection, createBrokerConnection } from './broker-connection.ts'
import { createQuarantine } from './quarantine.ts'
import { parseBrokerUrl } from '../../schema/names/broker-url.ts'
import type { Delivery, StartableBus } from '../bus.ts'
import { createGroupedSubscriptions } from './grouped-subscriptions.ts'
import { createHostStatus } from './host-status.ts'
import { createInbox } from '../inbox.ts'
import { createOutgoingQueue, type OutgoingMessage } from './outgoing-queue.ts'
import { closedProblem, filterProblem, topicProblem } from '../problems.ts'
import { isFilter, isTopic } from '../../base/topic-filter.ts'
import { createTopics } from '../../schema/names/topics.ts'
import { createReadPacer } from './read-pacer.ts'
import { createWarner } from '../../base/log/warning.ts'

/** Milliseconds that the start waits for the broker; after that the host runs without, and goes on trying. */
export const startTimeout = 5_000
/** Milliseconds at the end for what is still waiting, and for the last word. */
export const closingTimeout = 2_000

export interface ExternalBusSettings {
  /** `mqtt:`, `mqtts:`, `ws:` or `wss:`, with user name and password in it if need be. */
  url: string
  /** First level(s) of the host's own topics. */
  root: string
  logger: Logger
  clock: Clock
  /** 0 up to 1. */
  random?: () => number
  /** Where it says whether it is there. */
  statusTopic?: string
  /** Absent: one client id for as long as the bus lives, and everything may be sent. */
  session?: BusSession
}

/** What a bus may do whose host does not always speak for itself alone. */
export interface BusSession {
  /** Of the next connection; undefined: there is to be none. Another one counts after `renew`. */
  clientId(): string | undefined
  /**
   * For a message of a plugin (its full id), or of the host, also `about` a plugin: what is asked when it goes out, on the connection
   * that it goes over, and again on each other one. False: it is lost.
   */
  permit(publisher: string | undefined, topic: string, about?: string): () => boolean
}

export interface ExternalBus extends StartableBus, Pick<BrokerConnection, 'hurry'> {
  deliver: NonNullable<StartableBus['deliver']>
  /** The session is another one, or over: its connection is ended without a word, and nothing more goes over it. */
  renew(): void
  /**
   * Resolves when the broker has answered something that was sent after everything that was published before. Rejects when
   * the connection is lost meanwhile.
   */
  flush(): Promise<void>
}

/** The bus on a broker elsewhere: reconnects by itself, and keeps order, subscriptions and what waits. */
export function createExternalBus(settings: ExternalBusSettings): ExternalBus {
  const { root, logger, clock, random = Math.random, session } = settings
  const { shown: address } = parseBrokerUrl(settings.url)
  const topics = createTopics(root)
  const { statusTopic = topics.status } = settings
  const warn = createWarner(logger, clock)
  const inbox = createInbox(logger)
  const flushTopic = `${statusTopic}/flush`
  const quarantine = createQuarantine({
    clock,
    ownerOf: (topic) => topics.parsePlugin(topic)?.plugin,
    held: (what, pause) =>
      warn(
        'The MQTT broker ends the connection when it gets this, so it is kept back for a while: see whether the user may do it there, ' +
          'and what the log of the broker says',
        { ...what, seconds: pause / 1_000 },
        JSON.stringify(what),
      ),
    released() {
      subscriptions.retry()
      // What was kept back is lost: whoever has it says it again.
      status.retry()
      if (connection.client !== undefined) for (const listener of reconnectListeners) listener()
    },
  })
  const queue = createOutgoingQueue(
    quarantine,
    () => warn('A message was dropped: too many wait for the MQTT broker'),
    (topic, error, bytes) =>
      warn('The MQTT broker refused a message', { topic, bytes, reason: error.message }, topic),
  )
  const subscriptions = createGroupedSubscriptions(inbox, quarantine, (filter, error) =>
    warn('The MQTT broker refused a subscription', { filter, reason: error.message }, filter),
  )
  const reconnectListeners = new Set<() => void>()
  // The same for every connection: the broker then ends what is left of the one before, with its last will.
  const ownId = `lupine_${randomBytes(8).toString('hex')}`
  const connection = createBrokerConnection({
    ...{ url: settings.url, clock, random, opened, ended, ofSession: session !== undefined },
    clientId: () => (session === undefined ? ownId : session.clientId()),
    will: { topic: statusTopic, payload: Buffer.from('offline'), qos: 1, retain: true },
    message(topic, payload, packet) {
      messages.received += 1
      if (topic === statusTopic && !packet.retain) status.heard(packet)
      subscriptions.deliver(topic, payload, packet)
    },
    pace: createReadPacer(clock, inbox.congested),
  })
  /** Whether the host may say something in its own name. */
  const maySpeak = (): boolean => session?.permit(undefined, statusTopic)() ?? true
  let isStatusWaiting = false
  const status = createHostStatus({
    ...{ topic: statusTopic, ownId, root, address, clock, logger, warn, maySpeak },
    client: () => (closing === undefined ? connection.client : undefined),
    isSuspected: () => !quarantine.isIdle,
    enqueue(payload) {
      if (isStatusWaiting) return
      isStatusWaiting = true
      const message = { topic: statusTopic, payload: Buffer.from(payload), qos: 1, retain: true } as const
      queue.push({ ...message, permit: maySpeak, isKept: true }, () => {
        isStatusWaiting = false
      })
    },
  })
  const messages = { received: 0, published: 0 }
  /** Why there is no connection. */
  let fault: string | undefined
  let starting: Promise<void> | undefined
  let closing: Promise<void> | undefined
  let onFirstAttempt = (): void => undefined
  let endFarewell = (): void => undefined

  function opened(client: MqttClient, packet: IConnackPacket, protocolVersion: ProtocolVersion): void {
    logger.info('Connected to the MQTT broker', { url: address })
    fault = undefined
    const { subscriptionIdentifiersAvailable: tells = true } = packet.properties ?? {}
    const subscribed = subscriptions.open(client, tells ? protocolVersion : commonVersion)
    const downgrade = downgradeFor(packet)
    if (!downgrade({ qos: 0, retain: true }).retain)
      warn('The MQTT broker retains nothing: who comes later hears only of changes', { url: address })
    // MQTT 3.1.1 has no place for a signature; hosts of a fleet find each other otherwise.
    const sayOnline = (): void => status.opened(downgrade, protocolVersion === 5 && session === undefined)
    function ask(done: () => void): void {
      const answered = (): void => (connection.client === client ? done() : undefined)
      void roundTrip(client, flushTopic).then(answered, () => undefined)
    }
    const { send, window, packetLimit } = senderFor(client, packet, downgrade)
    const openQueue = (): void => queue.open(send, ask, window, packetLimit)
    if (quarantine.isIdle) {
      sayOnline()
      openQueue()
    } else {
      // One after the other, so that it is known with what the connection ends.
      void subscribed.then(() => {
        if (connection.client !== client) return
        sayOnline()
        ask(openQueue)
      })
    }
    onFirstAttempt()
    // Nobody listens yet when the start finds the broker.
    for (const listener of reconnectListeners) listener()
  }

  function ended(wasConnected: boolean, reason: string | undefined): boolean {
    queue.pause()
    subscriptions.pause()
    const isTelling = quarantine.ended(wasConnected && reason !== undefined)
    status.ended()
    fault = reason
    if (closing !== undefined) {
      endFarewell()
      return isTelling
    }
    onFirstAttempt()
    if (reason === undefined) return isTelling
    warn(wasConnected ? 'The MQTT broker is gone' : 'The MQTT broker cannot be reached', {
      url: address,
      reason,
    })
    return isTelling
  }

  function publishNow(message: OutgoingMessage, about?: string): void {
    messages.published += 1
    const permit = session?.permit(message.publisher, message.topic, about)
    queue.push(permit === undefined ? message : { ...message, permit })
  }

  function deliver(topic: string, payload: string, { isWanted, done }: Delivery): void {
    if (!isTopic(topic)) throw topicProblem(topic)
    if (closing !== undefined) return
    const message = { topic, payload: Buffer.from(payload), qos: 1, retain: false } as const
    const maySpeak = session?.permit(undefined, topic)
    let isForbidden = false
    messages.published += 1
    function permit(): boolean {
      if (!isWanted()) return false
      isForbidden = maySpeak?.() === false
      return !isForbidden
    }
    queue.push({ ...message, permit, isKept: true }, () => {
      if (!isForbidden) done()
    })
  }

  async function startAll(): Promise<void> {
    const attempted = new Promise<void>((resolve) => {
      onFirstAttempt = resolve
    })
    subscriptions.add(statusTopic, status.changed)
    connection.renew()
    // Where there is to be no connection now, nobody waits for one.
    if (session !== undefined && session.clientId() === undefined) return
    await waitAtMost(clock, startTimeout, attempted)
  }

  async function closeAll(): Promise<void> {
    inbox.close()
    connection.finish()
    onFirstAttempt()
    const last = connection.client
    if (last !== undefined && maySpeak()) {
      const said = new Promise<boolean>((resolve) => {
        endFarewell = () => resolve(false)
        const payload = Buffer.from('offline')
        queue.push({ topic: statusTopic, payload, qos: 1, retain: true }, () => resolve(true))
      })
      const isSaid = await withDeadline(clock, closingTimeout, said, () => new Error('late')).catch(
        () => false,
      )
      // Otherwise the broker says it, unless the connection ends in good order.
      if (isSaid) await waitAtMost(clock, closingTimeout, last.endAsync(false))
    }
    connection.close()
    subscriptions.close()
    quarantine.close()
    reconnectListeners.clear()
  }

  return {
    kind: 'external',
    start: () => (starting ??= closing === undefined ? startAll() : Promise.reject(closedProblem())),
    url: address,
    get connected() {
      return connection.client !== undefined && closing === undefined
    },
    get fault() {
      return fault
    },
    clients: 0,
    messages,
    onReconnect(listener) {
      reconnectListeners.add(listener)
      return () => void reconnectListeners.delete(listener)
    },
    async publish(topic, payload, { qos = 0, retain = false, publisher, about } = {}) {
      if (closing !== undefined) throw closedProblem()
      if (!isTopic(topic)) throw topicProblem(topic)
      publishNow({ topic, payload: Buffer.from(payload), qos, retain, publisher }, about)
    },
    prepare(topic, publisher) {
      if (!isTopic(topic)) throw topicProblem(topic)
      return (payload, { qos, retain }) => {
        if (closing !== undefined) return
        publishNow({ topic, payload: Buffer.from(payload), qos, retain, publisher })
      }
    },
    deliver,
    settled: () => queue.settled(),
    payloadLimit: (topic) => queue.payloadLimit(topic),
    causedBy: (_cause, task) => task(),
    congested: () => queue.congested() ?? inbox.congested(),
    mayBeRetainedBy: () => true,
    retainedTopics: () => [],
    retainedByPlugins: () => [],
    async subscribe(filter, handler, options) {
      if (closing !== undefined) throw closedProblem()
      if (!isFilter(filter)) throw filterProblem(filter)
      return subscriptions.add(filter, handler, options)
    },
    handleUpgrade() {
      throw new Problem('broker_unavailable', `The MQTT broker is elsewhere: connect to ${address} itself.`)
    },
    renew: connection.renew,
    hurry: connection.hurry,
    async flush() {
      await queue.settled()
      const { client } = connection
      if (client === undefined) throw new Error('There is no connection to the MQTT broker')
      await roundTrip(client, flushTopic)
    },
    close: () => (closing ??= Promise.resolve().then(closeAll)),
  }
}
