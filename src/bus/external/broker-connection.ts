import type { IConnackPacket, IPublishPacket, MqttClient } from 'mqtt'
import { backOffDelay } from '../../base/time/back-off.ts'
import type { Clock, ScheduledCall } from '../../base/time/clock.ts'
import { brokerFailure, disconnectReason } from './broker-failure.ts'
import {
  commonVersion,
  createBrokerClient,
  dropConnection,
  hasPacketIdentifier,
  keepalive,
  preferredVersion,
  type ProtocolVersion,
  downgradedWill,
  fallbackVersion,
  type Will,
} from './broker-client.ts'
import type { ReadPacer } from './read-pacer.ts'

/** The connection to a broker elsewhere, which is made anew by itself when it is lost. */
export interface BrokerConnection {
  /** While there is a connection. */
  readonly client: MqttClient | undefined
  /** Ends the connection that there is, without a word, and makes one when there is to be one. */
  renew(): void
  /** Others reach the broker: the next attempt is made at once, if one is waited for. */
  hurry(): void
  /** From now on none is made; the one that there is stays. */
  finish(): void
  /** Ends it without a word, and makes none any more. */
  close(): void
}

export interface BrokerConnectionSettings {
  url: string
  clock: Clock
  /** 0 up to 1. */
  random: () => number
  /** Of the next connection; undefined: there is to be none now. */
  clientId: () => string | undefined
  will: Will
  /** It is that of a session. */
  ofSession?: boolean
  opened(client: MqttClient, packet: IConnackPacket, protocolVersion: ProtocolVersion): void
  message(topic: string, payload: Buffer, packet: IPublishPacket): void
  /** Asked behind each message; the next one comes when it calls back. */
  pace: ReadPacer
  /**
   * A connection is gone; or, when it never was one, an attempt. No reason: that was wanted. Answers whether the next one may tell why,
   * and comes within seconds.
   */
  ended(wasConnected: boolean, reason: string | undefined): boolean
}

/** Milliseconds before the first new attempt to connect, and between attempts once many have failed. */
const reconnect = { min: 500, max: 30_000 }
/** As many failed attempts as count where the next one may tell why. */
const telling = 3
/** Milliseconds that a connection must hold for the next attempt after it to come soon. */
const steadyTime = 10_000

export function createBrokerConnection(settings: BrokerConnectionSettings): BrokerConnection {
  const { url, clock, random, clientId, ofSession = false, opened, message, pace, ended } = settings
  let protocolVersion: ProtocolVersion = preferredVersion
  let client: MqttClient | undefined
  let connected = false
  /** Monotonic time at which the present connection was made. */
  let connectedAt = 0
  let failures = 0
  let retry: ScheduledCall | undefined
  let isFinished = false
  /** As far as the broker takes it. */
  let will = settings.will

  function connect(): void {
    const id = clientId()
    if (isFinished || id === undefined) return
    const attempt = createBrokerClient(url, protocolVersion, {
      ...{ clientId: id, will },
      keepalive: ofSession ? keepalive.ofSession : keepalive.ordinary,
    })
    client = attempt
    let reason: unknown
    attempt.on('connect', (packet) => {
      if (client !== attempt || isFinished) return
      connected = true
      connectedAt = clock.monotonic()
      opened(attempt, packet, protocolVersion)
    })
    attempt.on('message', (topic, payload, packet) => {
      if (client === attempt) message(topic, payload, packet)
    })
    attempt.on('packetreceive', (packet) => {
      if (client === attempt && hasPacketIdentifier(packet)) return
      // The library would answer it, which throws where it has no number, or where the connection has been given up.
      Object.assign(packet, { cmd: 'ignored' })
      attempt.emit('error', new Error('it sends packets that are not well-formed'))
    })
    attempt.handleMessage = (_packet, done) => pace(() => done())
    // A broker of MQTT 5 may say why it is about to hang up.
    attempt.on('disconnect', ({ reasonCode, properties }) => {
      reason ??= new Error(disconnectReason(reasonCode, properties?.reasonString))
    })
    attempt.on('error', (error) => {
      reason ??= error
      onEnded(attempt, reason)
    })
    attempt.on('close', () => onEnded(attempt, reason))
  }

  function onEnded(attempt: MqttClient, reason: unknown): void {
    if (client !== attempt) return
    const wasConnected = connected
    if (wasConnected && clock.monotonic() - connectedAt >= steadyTime) failures = 0
    drop()
    const text = brokerFailure(reason, { now: clock.now(), wasConnected })
    if (isFinished) {
      ended(wasConnected, text)
      return
    }
    const lesser = wasConnected ? undefined : downgradedWill(will, reason)
    if (lesser !== undefined) {
      will = lesser
      connect()
      return
    }
    const other = wasConnected ? undefined : fallbackVersion(protocolVersion, reason)
    // Perhaps a newer broker, or one that takes more, is in the place of the one that was lost.
    if (wasConnected) will = settings.will
    protocolVersion = other ?? (wasConnected ? preferredVersion : protocolVersion)
    if (other === commonVersion) {
      connect()
      return
    }
    if (ended(wasConnected, text)) failures = Math.min(failures, telling)
    retry = clock.schedule(backOffDelay(reconnect, failures, random()), () => {
      retry = undefined
      connect()
    })
    failures += 1
  }

  function drop(): void {
    const last = client
    client = undefined
    connected = false
    if (last !== undefined) dropConnection(last)
  }

  function dropAll(): void {
    retry?.cancel()
    retry = undefined
    const wasConnected = connected
    drop()
    if (wasConnected) ended(true, undefined)
  }

  return {
    get client() {
      return connected ? client : undefined
    },
    renew() {
      dropAll()
      failures = 0
      connect()
    },
    hurry() {
      if (retry === undefined) return
      retry.cancel()
      retry = undefined
      // It takes the place of the one that waited: where it fails, the next one comes no later for it.
      failures = Math.max(0, failures - 1)
      connect()
    },
    finish() {
      isFinished = true
      retry?.cancel()
    },
    close() {
      isFinished = true
      dropAll()
    },
  }
}
