import type { Client } from 'aedes'

/**
 * The time of a client that promised to keep alive may be over as this process stood still, with all unread that the client has sent
 * meanwhile: its connection is read once more before it is cut off, and its will told. Not in the broker's types.
 */
export function readBeforeCutOff(client: Client): void {
  const timer: unknown = Reflect.get(client, '_keepaliveTimer')
  if (timer === null) return
  clearTimeout(timer as NodeJS.Timeout)
  const patient = setTimeout(
    () => {
      let isHeard = false
      const hear = (): void => void (isHeard = true)
      client.conn.once('readable', hear)
      // What waits at the sockets is read before that. The broker begins the time anew with each packet.
      setImmediate(() => {
        client.conn.off('readable', hear)
        if (!isHeard && !client.closed) client.emit('error', new Error('keep alive timeout'))
      })
    },
    Number(Reflect.get(client, '_keepaliveInterval')),
  )
  Reflect.set(client, '_keepaliveTimer', patient)
}
