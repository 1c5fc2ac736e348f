/** The port of an `http`, `https` or `mqtt` address, also where it is the usual one of HTTP and is not written. */
export function portOf(url: string): number {
  const { port, protocol } = new URL(url)
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}
