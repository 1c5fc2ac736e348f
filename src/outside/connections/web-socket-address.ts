/** The parts of a WebSocket's address; undefined when it is none. */
export function parseWebSocketUrl(text: string): { url: URL; host: string; port: number } | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:') return undefined
  url.hash = ''
  const defaultPort = url.protocol === 'wss:' ? 443 : 80
  return { url, host: url.hostname, port: url.port === '' ? defaultPort : Number(url.port) }
}
