import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/time/clock.ts'
import { Problem, problemDocument } from '../../base/problem.ts'
import type { Access } from '../access/access.ts'
import { refuseConnection } from '../answers/problem-answer.ts'

export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

export interface UpgradeSettings {
  access: Access
  /** Who takes a WebSocket over, by path. Below `/api` a token is needed; the others ask for it themselves. */
  handlers: Readonly<Record<string, UpgradeHandler>>
  clock: Clock
}

/** Hands WebSockets to those who speak on them, and refuses all others with problem details. */
export function createUpgrades({ access, handlers, clock }: UpgradeSettings): UpgradeHandler {
  return (request, socket, head) => {
    const path = request.url?.split('?', 1)[0] ?? ''
    try {
      access.checkSender(request)
      if (path.startsWith('/api/')) access.checkCaller(request)
      const handler = Object.hasOwn(handlers, path) ? handlers[path] : undefined
      if (handler === undefined || request.headers.upgrade?.toLowerCase() !== 'websocket') {
        throw new Problem('not_found', 'No WebSocket is served at this address; /mqtt and /api/inspect are.')
      }
      if (!isHandshake(request)) {
        throw new Problem('body_invalid', 'The WebSocket handshake is incomplete (RFC 6455, version 13).')
      }
      handler(request, socket, head)
    } catch (error) {
      refuseConnection(socket, problemDocument(error, path), clock)
    }
  }
}

/** What a handshake must have; what it lacks is told with the headers that every answer has. */
function isHandshake({ method, headers }: IncomingMessage): boolean {
  const key = headers['sec-websocket-key']
  return (
    method === 'GET' &&
    headers['sec-websocket-version'] === '13' &&
    key !== undefined &&
    /^[+/0-9A-Za-z]{22}==$/.test(key)
  )
}
