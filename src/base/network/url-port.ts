/** The port of an address, also where it is the usual one of HTTP or WebSocket and is not written. */
export function portOf(url: string | URL): number {
  const { port, protocol } = new URL(url)
  if (port !== '') return Number(port)
  return protocol === 'https:' || protocol === 'wss:' ? 443 : 80
}
