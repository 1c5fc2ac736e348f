import type { NatsConnection } from '@nats-io/transport-node'
import { StoreUnreachableError } from './store-errors.ts'

/**
 * Makes a connection keep nothing for later. The client's own way is to keep what is published while the store is away,
 * and to send it when it is back: long after whoever asked was told that nobody answered. What is asked for now is
 * refused at once, and what nobody waits for is lost, as on any network.
 */
export function keepNothing(connection: NatsConnection): NatsConnection {
  requireKnownClient(connection)
  const publish = connection.publish.bind(connection)
  const request = connection.request.bind(connection)
  return Object.assign(connection, {
    publish(...given: Parameters<typeof publish>) {
      if (isConnected(connection)) publish(...given)
    },
    request(...given: Parameters<typeof request>) {
      if (isConnected(connection)) return request(...given)
      return Promise.reject(new StoreUnreachableError("The fleet's store is away."))
    },
  })
}

/**
 * Whether there is a connection at this moment. What the client tells of it comes later than the next message, so the state that
 * it goes by itself is read. It is not among what the package promises: another version may need another way.
 */
export function isConnected(connection: NatsConnection): boolean {
  return (connection as { protocol?: { connected?: unknown } }).protocol?.connected === true
}

function requireKnownClient(connection: NatsConnection): void {
  if (!isConnected(connection)) throw new Error('This version of the client for NATS is not known here')
}
