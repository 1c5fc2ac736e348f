import { Socket } from 'node:net'
import mqtt, { type IClientOptions, type IConnackPacket, type MqttClient, type Packet } from 'mqtt'
import { systemErrorCode } from '../../base/problem.ts'
import { packetBytesLimit } from '../broker-limits.ts'
import type { OutgoingMessage, Send } from './outgoing-queue.ts'
import { parseBrokerUrl } from '../../schema/names/broker-url.ts'

/** A client of a broker elsewhere, for one connection: the library is to keep nothing for another one. */

/**
 * Seconds between signs of life: a broker that vanished is noticed within one and a half of them, and a host by the broker. A host of
 * a fleet has plugins that others may run, and those that are to leave it wait for the broker.
 */
export const keepalive = { ordinary: 30, ofSession: 8 }
/** Milliseconds that one attempt to connect may take. */
const connectTimeout = 10_000

/** Messages under way at a time, unless the broker allows fewer. */
const defaultWindow = 1_000

/** The one that tells which subscription a message belongs to, and the one that all brokers speak. */
export const preferredVersion = 5
export const commonVersion = 4
export type ProtocolVersion = typeof preferredVersion | typeof commonVersion

export function createBrokerClient(
  url: string,
  protocolVersion: ProtocolVersion,
  options: Pick<IClientOptions, 'clientId' | 'keepalive' | 'will'>,
): MqttClient {
  const { address, username, password } = parseBrokerUrl(url)
  const client = mqtt.connect(address, {
    keepalive: keepalive.ordinary,
    ...options,
    protocolVersion,
    clean: true,
    connectTimeout,
    reconnectPeriod: 0,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    // In MQTT 3.1.1 there is no place for it, and it is not sent.
    properties: { maximumPacketSize: packetBytesLimit },
  })
  // Otherwise what follows an acknowledgement waits for 40 ms, until the system of the broker has confirmed that. WebSockets do it.
  if (client.stream instanceof Socket) client.stream.setNoDelay(true)
  return client
}

/**
 * The version to try after this one was not taken. An old broker refuses the newer one, or just hangs up. Undefined: none
 * is worth a try, as nobody answers at the address.
 */
export function fallbackVersion(version: ProtocolVersion, reason: unknown): ProtocolVersion | undefined {
  const code = systemErrorCode(reason)
  // It hangs up like that, too, when it has not read all of what it does not understand.
  if (code !== undefined && code !== 'ECONNRESET') return undefined
  return version === preferredVersion ? commonVersion : preferredVersion
}

type Handling = Pick<OutgoingMessage, 'qos' | 'retain'>

/** QoS and retain of a message as this broker supports them: it cuts off who sends it more. */
export type MessageDowngrade = (wanted: Handling) => Handling

/** By what the broker said when it accepted the connection; one of MQTT 3.1.1 says nothing, and gets messages as they are. */
export function downgradeFor({
  properties: { maximumQoS = 2, retainAvailable = true } = {},
}: IConnackPacket): MessageDowngrade {
  return ({ qos, retain }) => ({
    qos: maximumQoS === 2 ? qos : maximumQoS === 1 && qos > 0 ? 1 : 0,
    retain: retain && retainAvailable,
  })
}

export type Will = NonNullable<IClientOptions['will']>

/** Reason codes of MQTT 5. */
const retainNotSupported = 0x9a
const qosNotSupported = 0x9b

/** The will without what the broker has refused of it, by the reason code of MQTT 5. Undefined: that was not the reason. */
export function downgradedWill(will: Will, reason: unknown): Will | undefined {
  const code: unknown = reason instanceof Error && 'code' in reason ? reason.code : undefined
  if (code === retainNotSupported && will.retain === true) return { ...will, retain: false }
  return code === qosNotSupported && will.qos !== 0 ? { ...will, qos: 0 } : undefined
}

/**
 * Whether the broker itself has refused a message: it gives a code. The library also says of whatever is under way when its
 * connection ends that it has failed.
 */
function isRefusal(error: Error): boolean {
  return 'code' in error && typeof error.code === 'number'
}

/**
 * Resolves when the broker has answered something that was sent after all that was sent before: nobody subscribes to this topic. Rejects
 * when the connection is lost meanwhile.
 */
export function roundTrip(client: MqttClient, topic: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const lost = (): void => reject(new Error('The connection to the MQTT broker was lost'))
    client.on('close', lost)
    // Answered without asking for any right, and it changes nothing.
    client.unsubscribe(topic, (error) => {
      client.removeListener('close', lost)
      if (error) reject(error)
      else resolve()
    })
  })
}

/** How messages go out over a connection: so many at a time that are not acknowledged, and at most so many bytes each. */
export function senderFor(
  client: MqttClient,
  packet: IConnackPacket,
  downgrade: MessageDowngrade,
): { send: Send; window: number; packetLimit: number | undefined } {
  const { receiveMaximum = defaultWindow, maximumPacketSize } = packet.properties ?? {}
  return {
    send({ topic, payload, qos, retain }, done) {
      client.publish(topic, payload, downgrade({ qos, retain }), (error) => {
        // What the end of a connection leaves unanswered stays under way: the queue is told of that, and sends it again.
        if (!error || isRefusal(error)) done(error ?? undefined)
      })
    },
    // One less than allowed: the status is under way.
    window: Math.max(1, Math.min(receiveMaximum, defaultWindow) - 1),
    packetLimit: maximumPacketSize,
  }
}

/** Whether a packet that needs a packet identifier has one: of a packet that is cut short the library takes -1 for it. */
export function hasPacketIdentifier(packet: Packet): boolean {
  return !('messageId' in packet) || packet.messageId >= 0
}

/** Ends a connection at once, without DISCONNECT. */
export function dropConnection(client: MqttClient): void {
  client.on('error', () => undefined)
  client.end(true)
}
