import type { ConnectionTarget, WebSocketTarget } from '../../schema/connection.ts'
import type { ConnectionSettings } from './connection.ts'
import type { LinkContext } from './link.ts'
import { parseWebSocketUrl } from './web-socket-address.ts'

/** What a plugin may connect to: each answers why not, in a sentence, or undefined. */
export interface ConnectionAllowance {
  connect(host: string, port: number, foreignCaller?: string): string | undefined
}

/** What a kind of connection adds to what all have. */
export type Kind = Pick<ConnectionSettings, 'shownTarget' | 'reconnect' | 'refusal' | 'open' | 'addressed'>

/** Libraries are loaded when the first connection of their kind is made. */
export function kindOf(
  target: ConnectionTarget,
  context: LinkContext,
  refuse: ConnectionAllowance['connect'],
): Kind {
  return webSocket(target, context, refuse)
}

/** For those that are connected to one other side. */
const toSession: Kind['addressed'] = (name, session) => (name === String(session) ? {} : undefined)

function webSocket(
  target: WebSocketTarget,
  context: LinkContext,
  refuse: ConnectionAllowance['connect'],
): Kind {
  const address = parseWebSocketUrl(target.url)
  const shownTarget = address === undefined ? 'no address' : `${address.url.protocol}//${address.url.host}`
  return {
    shownTarget,
    reconnect: target.reconnect,
    refusal:
      address === undefined
        ? 'the address of a WebSocket is absolute and begins with ws:// or wss://'
        : refuse(address.host, address.port),
    addressed: toSession,
    async open(events) {
      const { openWebSocket } = await import('./web-socket-link.ts')
      return () => openWebSocket(target, events, context)
    },
  }
}
