import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { systemErrorCode } from '../../base/problem.ts'
import { packetBytesLimit } from '../broker-limits.ts'
import { parseBrokerUrl } from '../../schema/names/broker-url.ts'

/** A client of a broker elsewhere, for one connection: the library is to keep nothing for another one. */

/** Seconds between signs of life: a broker that vanished is noticed within one and a half of them. */
const keepaliveSeconds = 30
/** Milliseconds that one attempt to connect may take. */
const connectTimeout = 10_000

/** The one that tells which subscription a message belongs to, and the one that all brokers speak. */
export const preferredVersion = 5
export const commonVersion = 4
export type ProtocolVersion = typeof preferredVersion | typeof commonVersion

export function createBrokerClient(
  url: string,
  protocolVersion: ProtocolVersion,
  options: Pick<IClientOptions, 'clientId' | 'will'>,
): MqttClient {
  const { address, username, password } = parseBrokerUrl(url)
  return mqtt.connect(address, {
    ...options,
    protocolVersion,
    clean: true,
    keepalive: keepaliveSeconds,
    connectTimeout,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(protocolVersion === 5 ? { properties: { maximumPacketSize: packetBytesLimit } } : {}),
  })
}

/**
 * The version to try after this one was not taken. An old broker refuses the newer one, or just hangs up. Undefined: none
 * is worth a try, as nobody answers at the address.
 */
export function versionAfter(version: ProtocolVersion, reason: unknown): ProtocolVersion | undefined {
  if (systemErrorCode(reason) !== undefined) return undefined
  return version === preferredVersion ? commonVersion : preferredVersion
}

/**
 * Whether the broker itself has refused a message: it gives a code. The library also says of whatever is under way when its
 * connection ends that it has failed.
 */
export function isRefusal(error: Error): boolean {
  return 'code' in error && typeof error.code === 'number'
}

/** Ends a connection without a word. */
export function hangUp(client: MqttClient): void {
  client.on('error', () => undefined)
  client.end(true)
}
