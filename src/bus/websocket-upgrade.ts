import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { securityLines } from '../base/security-headers.ts'
import { createWebSocketStream, WebSocketServer } from 'ws'

/** MQTT over WebSocket (MQTT 3.1.1, section 6). Path and `Origin` have been checked before. */

const subprotocol = 'mqtt'

/** Answers an upgrade that is not taken over, in the way of HTTP/1.1, and ends the connection. */
export function refuseUpgrade(socket: Duplex, statusLine: string, sentence: string): void {
  socket.on('error', () => socket.destroy())
  socket.end(
    `HTTP/1.1 ${statusLine}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n${securityLines}` +
      `Content-Length: ${Buffer.byteLength(sentence)}\r\n\r\n${sentence}`,
  )
}

export interface WebSocketUpgrade {
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
        refuseUpgrade(socket, '400 Bad Request', 'Ask for the WebSocket subprotocol "mqtt".\n')
        return
      }
      server.handleUpgrade(request, socket, head, (webSocket) => {
        const stream = createWebSocketStream(webSocket)
        accept(stream, request)
      })
    },
    close: () => void server.close(),
  }
}
