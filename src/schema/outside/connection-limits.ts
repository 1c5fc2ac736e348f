// Without schemas, so that a worker can use it too.

/** Bytes of one message or frame, in either direction. */
export const connectionMessageLimit = 1024 * 1024
/** Bytes that a plugin has written to one connection and that have not gone yet. */
export const unsentLimit = 1024 * 1024
/** Bytes that a message counts beside its content, so that many empty ones are not nothing. */
export const messageOverhead = 64
/** Bytes under way to a plugin from one connection, from which on the connection is paused. */
export const receivedWindow = 64 * 1024
/** Bytes that a plugin takes of a connection before its worker reports it to the host. */
export const takenReportBytes = 16 * 1024
/** Bytes that are sent before the host reports it to the worker, while more is to go. */
export const writtenReportBytes = 64 * 1024

/** Milliseconds. */
export const reconnectLimits = { least: 50, most: 24 * 3_600_000 } as const
export const defaultReconnect = { min: 1_000, max: 60_000 } as const
/** Milliseconds from the request for a connection until it is given up. */
export const connectTimeout = 10_000
export const connectTimeoutLimit = 600_000
/** Milliseconds between two pings of a WebSocket. */
export const defaultPing = 30_000
export const pingLimits = { least: 50, most: 24 * 3_600_000 } as const
/** Bytes of a delimiter. */
export const delimiterLimit = 64
/** Characters of the id of an event from which the next connection goes on. */
const eventIdLimit = 4 * 1024
const noHeader = /[\0-\x08\x0a-\x1f\x7f]/
/** Whether the next connection can name it, in a header. */
export const isEventId = (text: string): boolean => text.length <= eventIdLimit && !noHeader.test(text)
/** Milliseconds without a byte that can end a frame. */
export const silenceLimit = 60_000
/** Bytes of certificates, as PEM. */
export const certificatesLimit = 256 * 1024
/** Bytes of one datagram (IPv4: 65,535 without the headers of IP and UDP). */
export const datagramLimit = 65_507
/** Multicast groups of one socket; the system takes about as many. */
export const groupLimit = 20
/** Bits a second of a serial port. */
export const baudRateLimit = 20_000_000
export const defaultBaudRate = 9_600
/** What a serial port can be set to; the first one is the default. */
export const serialChoices = {
  dataBits: [8, 7, 6, 5],
  parity: ['none', 'even', 'odd', 'mark', 'space'],
  stopBits: [1, 1.5, 2],
} as const
/** Subprotocols that one WebSocket asks for. */
export const protocolLimit = 50
