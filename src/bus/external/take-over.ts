import { type Clock, withDeadline } from '../../base/time/clock.ts'
import { messageOf } from '../../base/problem.ts'
import type { MqttClient } from 'mqtt'
import {
  createBrokerClient,
  dropConnection,
  preferredVersion,
  type ProtocolVersion,
  fallbackVersion,
} from './broker-client.ts'

/** Milliseconds that the broker has for one take-over. */
const takeOverTimeout = 5_000

/**
 * Connects once with a client id, so that the broker closes the connection that had it: nothing that still comes over
 * that one goes any further. Resolves when the broker has accepted. Rejects when it has not, or does not answer in time.
 */
export async function takeOverClient(url: string, clientId: string, clock: Clock): Promise<void> {
  let present: MqttClient | undefined
  let isOver = false

  function attempt(version: ProtocolVersion): Promise<void> {
    const client = createBrokerClient(url, version, { clientId })
    present = client
    return new Promise((resolve, reject) => {
      client.on('connect', () => resolve())
      client.on('error', reject)
      client.on('close', () => reject(new Error('it hung up')))
    })
  }

  async function attempts(): Promise<void> {
    try {
      await attempt(preferredVersion)
    } catch (error) {
      if (present !== undefined) dropConnection(present)
      const other = fallbackVersion(preferredVersion, error)
      // The end of an attempt whose time is over says nothing of the version, and nobody would end another one.
      if (other === undefined || isOver) throw error
      await attempt(other)
    }
  }

  try {
    await withDeadline(clock, takeOverTimeout, attempts(), () => new Error('it does not answer in time'))
  } catch (error) {
    throw new Error(`The MQTT broker did not take a client id over: ${messageOf(error)}`, { cause: error })
  } finally {
    isOver = true
    if (present !== undefined) dropConnection(present)
  }
}
