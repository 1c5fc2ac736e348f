import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { createWebSocketStream, WebSocketServer } from 'ws'
import { Problem } from '../../base/problem.ts'

/** MQTT over WebSocket (MQTT 3.1.1, section 6). Path and `Origin` have been checked before. */

const subprotocol = 'mqtt'

export interface WebSocketUpgrade {
  /** Throws a `Problem` for one that does not ask for `mqtt`. */
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void
  close(): void
}

/** Hands every WebSocket that asks for `mqtt` to `accept`, as a stream of its bytes. */
export function createWebSocketUpgrade(
  maxPayload: number,
  accept: (stream: Duplex, request: IncomingMessage) => void,
): WebSocketUpgrade {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Compression would let a small frame grow; MQTT clients do not ask for it.
    perMessageDeflate: false,
    maxPayload,
    handleProtocols: () => subprotocol,
  })
  return {
    handle(request, socket, head) {
      const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',')
      if (!offered.some((protocol) => protocol.trim() === subprotocol)) {
        throw new Problem('body_invalid', 'Ask for the WebSocket subprotocol "mqtt".')
      }
      server.handleUpgrade(request, socket, head, (webSocket) => {
        const stream = createWebSocketStream(webSocket)
        // Before the stream hears of it: packets come in binary frames, and whoever sends others is cut off (6.0.0-1).
        webSocket.prependListener('message', (_data, isBinary) => {
          if (!isBinary) stream.destroy()
        })
        accept(stream, request)
      })
    },
    close: () => void server.close(),
  }
}
