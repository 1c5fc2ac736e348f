import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/** Has a server listen at a free port of this machine, and answers which. */
export async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}
