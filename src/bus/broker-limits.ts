/** What the embedded broker takes of its clients; what it keeps for them is beside what keeps it. */

/**
 * Connections over TCP and WebSocket at a time, if nothing else is set (`HOST_MQTT_CONNECTIONS`). Each takes one
 * file descriptor and some 20 kB. With those of HTTP and some hundred files and pipes of the host they fit into
 * 4,096 descriptors, the least hard limit that is usual, to which Node raises its own.
 */
export const connectionsLimit = 2_000
/** Of one address other than this machine's own (`HOST_MQTT_CONNECTIONS_PER_ADDRESS`): many for one gateway. */
export const connectionsPerAddressLimit = 250
/**
 * Messages of QoS 2 of one client that it has not released yet, of which the broker keeps the numbers. Libraries
 * without a window send some thousand at once; nobody needs to keep as many open.
 */
export const inflightLimit = 10_000
/** Bytes of one MQTT packet from a client: the size of a request over HTTP, and as much for the rest. */
export const packetBytesLimit = 2 * 1024 * 1024
/** Filters one client may have. Home Assistant has two for each entity. */
export const subscriptionsPerClientLimit = 50_000
/** Bytes of memory for the filters of all clients of one address, and of all together; see `bytesOfFilter`. */
export const subscriptionBytesLimits = { address: 128 * 1024 * 1024, clients: 256 * 1024 * 1024 }
/** Bytes of the ids and wills of the connected clients of one address, and of all together. */
export const connectBytesLimits = { address: 32 * 1024 * 1024, clients: 64 * 1024 * 1024 }
/** Milliseconds in which a new connection must send its CONNECT. */
export const connectTimeout = 10_000
/** Milliseconds of silence after which TCP itself asks: MQTT clients may choose to have no keepalive. */
export const tcpKeepalive = 60_000
/** Milliseconds that a client may leave its incoming buffer full before it is cut off. */
export const drainTimeout = 10_000
/** Bytes that may wait for one client that reads too slowly. */
export const outgoingBytesLimit = 16 * 1024 * 1024

/** Of a subscription by itself, and of each level of its filter, which is a map of its own in a matcher. */
const subscriptionBytes = { each: 600, level: 250 }

/** Bytes of memory that a subscription takes, about. */
export function bytesOfFilter(filter: string): number {
  return subscriptionBytes.each + filter.split('/').length * subscriptionBytes.level + filter.length
}
