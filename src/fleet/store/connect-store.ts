import type { NatsConnection } from '@nats-io/transport-node'
import { messageOf } from '../../base/problem.ts'
import { StoreRefusedError, StoreUnreachableError } from './store-errors.ts'

/** How the fleet's store is reached. */
export interface StoreAddress {
  /** One or more URLs; any of them leads to the whole. */
  servers: readonly string[]
  /** Name of this client, for whoever looks at the store. */
  name: string
  user?: string
  password?: string
}

/** Milliseconds that a first connection may take, and between two tries once it was there. */
const connectTimeout = 5_000
const reconnectPause = 250

/** Connects, and connects again by itself when the connection is lost. */
export async function connectStore(address: StoreAddress): Promise<NatsConnection> {
  const { connect } = await import('@nats-io/transport-node')
  const { servers, name, user, password } = address
  try {
    return await connect({
      servers: [...servers],
      name,
      timeout: connectTimeout,
      reconnectTimeWait: reconnectPause,
      maxReconnectAttempts: -1,
      ...(user === undefined ? {} : { user }),
      ...(password === undefined ? {} : { pass: password }),
    })
  } catch (error) {
    const where = servers.join(', ')
    if (error instanceof Error && error.name === 'AuthorizationError') {
      throw new StoreRefusedError(
        `The fleet's store at ${where} refuses this login; give the user and password that it knows.`,
        { cause: error },
      )
    }
    throw new StoreUnreachableError(
      `The fleet's store at ${where} cannot be reached (${messageOf(error)}); start it, or correct its address.`,
      { cause: error },
    )
  }
}
