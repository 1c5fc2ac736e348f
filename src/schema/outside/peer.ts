// Without schemas, so that a worker can use it too.

/** The other end of a datagram. */
export interface Peer {
  host: string
  port: number
}

/** As the name of a frame. */
export const peerName = ({ host, port }: Peer): string => `${port} ${host}`

/** Undefined when the name is none of a peer. */
export function peerOf(name: string): Peer | undefined {
  const blank = name.indexOf(' ')
  const port = Number(name.slice(0, blank))
  const host = name.slice(blank + 1)
  const isPeer = blank > 0 && Number.isInteger(port) && port > 0 && port <= 0xffff && host !== ''
  return isPeer ? { host, port } : undefined
}
