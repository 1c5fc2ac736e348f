import { randomBytes } from 'node:crypto'
import mqtt, { type IConnackPacket, type MqttClient } from 'mqtt'
import { type Clock, type ScheduledCall, withDeadline } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { messageOf, systemErrorCode } from '../base/problem.ts'
import { backOffDelay } from './back-off.ts'
import { packetBytesLimit } from './broker-limits.ts'
import { parseBrokerUrl } from './broker-url.ts'
import type { BusMessage, StartableBus } from './bus.ts'
import { createGroupedSubscriptions } from './grouped-subscriptions.ts'
import { createInbox } from './inbox.ts'
import { createOutgoingQueue } from './outgoing-queue.ts'
import { closedProblem, filterProblem, topicProblem } from './problems.ts'
import { isFilter, isTopic } from '../base/topic-filter.ts'
import { createTopics } from '../schema/topics.ts'
import { createWarner } from '../base/warning.ts'
import { refuseUpgrade } from './websocket-upgrade.ts'

/** Seconds between signs of life: a broker that vanished is noticed within one and a half of them. */
export const keepaliveSeconds = 30
/** Milliseconds that one attempt to connect may take. */
export const connectTimeout = 10_000
/** Milliseconds that the start waits for the broker; after that the host runs without, and goes on trying. */
export const startTimeout = 5_000
/** Milliseconds at the end for what is still waiting, and for the last word. */
export const farewellTimeout = 2_000
/** Milliseconds that a connection must hold for the next attempt after it to come soon. */
const steadyTime = 10_000
/** Messages under way at a time, unless the broker allows fewer. */
const defaultWindow = 1_000
/** Protocol version that tells which subscription a message belongs to; and the one that all brokers speak. */
const preferredVersion = 5
const commonVersion = 4

export interface ExternalBusSettings {
  /** `mqtt:`, `mqtts:`, `ws:` or `wss:`, with user name and password in it if need be. */
  url: string
  /** First level(s) of the host's own topics. */
  root: string
  logger: Logger
  clock: Clock
  /** 0 up to 1. */
  random?: () => number
}

/** The bus on a broker elsewhere: reconnects by itself, and keeps order, subscriptions and what waits. */
export function createExternalBus(settings: ExternalBusSettings): StartableBus {
  const { root, logger, clock, random = Math.random } = settings
  const { address, username, password } = parseBrokerUrl(settings.url)
  const topics = createTopics(root)
  const warn = createWarner(logger, clock)
  const inbox = createInbox(logger)
  const queue = createOutgoingQueue(
    () => warn('A message was dropped: too many wait for the MQTT broker'),
    (topic, error) => warn('The MQTT broker refused a message', { topic, reason: error.message }),
  )
  const subscriptions = createGroupedSubscriptions(inbox, (filter, error) =>
    warn('The MQTT broker refused a subscription', { filter, reason: error.message }),
  )
  const reconnectListeners = new Set<() => void>()
  // The same for every connection: the broker then ends what is left of the one before, with its last will.
  const clientId = `lupine_${randomBytes(8).toString('hex')}`
  let protocolVersion: 4 | 5 = preferredVersion
  let client: MqttClient | undefined
  let connected = false
  /** Monotonic time at which the present connection was made. */
  let connectedAt = 0
  const messages = { received: 0, published: 0 }
  let failures = 0
  let retry: ScheduledCall | undefined
  let starting: Promise<void> | undefined
  let closing: Promise<void> | undefined
  let onFirstAttempt = (): void => undefined
  let endFarewell = (): void => undefined

  function connect(): void {
    const attempt = mqtt.connect(address, {
      clientId,
      protocolVersion,
      clean: true,
      keepalive: keepaliveSeconds,
      connectTimeout,
      // Attempts, waiting messages and subscriptions are this bus's own business.
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      will: { topic: topics.status, payload: Buffer.from('offline'), qos: 1, retain: true },
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...(protocolVersion === 5 ? { properties: { maximumPacketSize: packetBytesLimit } } : {}),
    })
    client = attempt
    let reason: unknown
    attempt.on('connect', (packet) => onConnected(attempt, packet))
    attempt.on('message', (topic, payload, packet) => {
      messages.received += 1
      subscriptions.deliver(topic, payload, packet)
    })
    attempt.on('error', (error) => {
      reason ??= error
      onEnded(attempt, reason)
    })
    attempt.on('close', () => onEnded(attempt, reason))
  }

  function onConnected(attempt: MqttClient, packet: IConnackPacket): void {
    if (client !== attempt || closing !== undefined) return
    connected = true
    connectedAt = clock.monotonic()
    logger.info('Connected to the MQTT broker', { url: address })
    subscriptions.open(attempt, protocolVersion)
    sayOnline(attempt)
    // One less than allowed: the status is under way.
    const window = Math.min(packet.properties?.receiveMaximum ?? defaultWindow, defaultWindow) - 1
    queue.open(
      ({ topic, payload, qos, retain }, done) =>
        void attempt.publish(topic, payload, { qos, retain }, (error) => done(error ?? undefined)),
      Math.max(1, window),
      packet.properties?.maximumPacketSize,
    )
    onFirstAttempt()
    // Nobody listens yet when the start finds the broker.
    for (const listener of reconnectListeners) listener()
  }

  function sayOnline(through: MqttClient): void {
    through.publish(topics.status, 'online', { qos: 1, retain: true }, (error) => {
      if (error && client === through) warn('The MQTT broker refused the status', { reason: error.message })
    })
  }

  /**
   * After a power cut the broker believes for a while in the connection of the run before, and then says
   * `offline` for it: that must not stay the last word on a host that is there.
   */
  function onStatus({ payload, retained }: BusMessage): void {
    if (retained || client === undefined || !connected || closing !== undefined) return
    if (Buffer.from(payload).toString() === 'offline') sayOnline(client)
  }

  function onEnded(attempt: MqttClient, reason: unknown): void {
    if (client !== attempt) return
    const wasConnected = connected
    if (wasConnected && clock.monotonic() - connectedAt >= steadyTime) failures = 0
    client = undefined
    connected = false
    queue.pause()
    subscriptions.pause()
    attempt.on('error', () => undefined)
    attempt.end(true)
    if (closing !== undefined) {
      endFarewell()
      return
    }
    // An old broker refuses the newer version, or just hangs up. An address at which nobody answers does neither.
    if (!wasConnected && systemErrorCode(reason) === undefined) {
      protocolVersion = protocolVersion === preferredVersion ? commonVersion : preferredVersion
      if (protocolVersion === commonVersion) {
        connect()
        return
      }
    }
    // Perhaps a newer one takes its place.
    if (wasConnected) protocolVersion = preferredVersion
    const text = reason === undefined ? 'the connection was closed' : messageOf(reason)
    warn(wasConnected ? 'The MQTT broker is gone' : 'The MQTT broker cannot be reached', {
      url: address,
      reason: text,
    })
    onFirstAttempt()
    retry = clock.schedule(backOffDelay(failures, random()), () => {
      retry = undefined
      if (closing === undefined) connect()
    })
    failures += 1
  }

  async function startAll(): Promise<void> {
    const attempted = new Promise<void>((resolve) => {
      onFirstAttempt = resolve
    })
    subscriptions.add(topics.status, onStatus)
    connect()
    await withDeadline(clock, startTimeout, attempted, () => new Error('late')).catch(() => undefined)
  }

  async function closeAll(): Promise<void> {
    inbox.close()
    retry?.cancel()
    onFirstAttempt()
    const last = client
    if (last !== undefined && connected) {
      const said = new Promise<void>((resolve) => {
        endFarewell = resolve
        const payload = Buffer.from('offline')
        queue.push({ topic: topics.status, payload, qos: 1, retain: true }, resolve)
      })
      await withDeadline(clock, farewellTimeout, said, () => new Error('late')).catch(() => undefined)
      const ended = last.endAsync(false)
      await withDeadline(clock, farewellTimeout, ended, () => new Error('late')).catch(() => undefined)
    }
    last?.end(true)
    client = undefined
    connected = false
    subscriptions.close()
    reconnectListeners.clear()
  }

  return {
    kind: 'external',
    start: () => (starting ??= closing === undefined ? startAll() : Promise.reject(closedProblem())),
    url: address,
    get connected() {
      return connected && closing === undefined
    },
    clients: 0,
    messages,
    onReconnect(listener) {
      reconnectListeners.add(listener)
      return () => void reconnectListeners.delete(listener)
    },
    async publish(topic, payload, { qos = 0, retain = false } = {}) {
      if (closing !== undefined) throw closedProblem()
      if (!isTopic(topic)) throw topicProblem(topic)
      messages.published += 1
      queue.push({ topic, payload: Buffer.from(payload), qos, retain })
    },
    prepare(topic) {
      if (!isTopic(topic)) throw topicProblem(topic)
      return (payload, { qos, retain }) => {
        if (closing !== undefined) return
        messages.published += 1
        queue.push({ topic, payload: Buffer.from(payload), qos, retain })
      }
    },
    causedBy: (_cause, task) => task(),
    congested: () => (connected ? queue.congested() : undefined) ?? inbox.congested(),
    mayBeRetainedBy: () => true,
    retainedTopics: () => [],
    retainedByPlugins: () => [],
    async subscribe(filter, handler, options) {
      if (closing !== undefined) throw closedProblem()
      if (!isFilter(filter)) throw filterProblem(filter)
      return subscriptions.add(filter, handler, options)
    },
    handleUpgrade(_request, socket) {
      refuseUpgrade(socket, '503 Service Unavailable', `Connect to the MQTT broker itself: ${address}\n`)
    },
    close: () => (closing ??= Promise.resolve().then(closeAll)),
  }
}
