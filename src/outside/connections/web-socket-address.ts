import { portOf } from '../../base/network/url-port.ts'

/** The parts of a WebSocket's address; undefined when it is none. */
export function parseWebSocketUrl(text: string): { url: URL; host: string; port: number } | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:') return undefined
  url.hash = ''
  return { url, host: url.hostname, port: portOf(url) }
}
