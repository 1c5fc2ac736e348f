import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer as createWebServer } from 'node:http'
import { createServer as createSecureWebServer } from 'node:https'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { WebSocketServer } from 'ws'
import { systemClock } from '../../../src/base/time/clock.ts'
import { systemTables } from '../../../src/outside/connections/delivery-watchdog.ts'
import { createOutside } from '../../../src/outside/outside.ts'
import type { ConnectionTarget } from '../../../src/schema/outside/connection.ts'
import { listen } from '../../helpers/listen.ts'
import { until } from '../../helpers/until.ts'
import { openConnection } from './open-connection.ts'

const skip = process.platform === 'linux' ? false : 'only Linux says when it asks'
const tlsFolder = join(import.meta.dirname, '..', '..', 'fixtures', 'tls')
const login = {
  cert: readFileSync(join(tlsFolder, 'certificate.pem'), 'utf8'),
  key: readFileSync(join(tlsFolder, 'key.pem'), 'utf8'),
}

/** Milliseconds until the system asks from this port whether there is still somebody at the other; `none`: it never does. */
async function untilAsked(from: number, to: number): Promise<number | 'none'> {
  const [timer = '', ticks = ''] = await until('a connection with nothing under way', async () => {
    const lines = (await systemTables()).flatMap((table) => table.split('\n'))
    const fields = lines.map((line) => line.trim().split(/\s+/))
    const [, , , , , wait = ''] =
      fields.find(
        ([, local, remote, state]) => portOf(local) === from && portOf(remote) === to && state === '01',
      ) ?? []
    // What waits for an acknowledgement has another timer meanwhile.
    return wait === '' || wait.startsWith('01') ? undefined : wait.split(':')
  })
  return timer === '02' ? Number.parseInt(ticks, 16) * 10 : 'none'
}

const portOf = (address = ''): number => Number.parseInt(address.split(':')[1] ?? '', 16)

const withWebSockets = <S extends Server>(server: S): S => {
  new WebSocketServer({ server: server as never })
  return server
}
const webSocketTo = (url: string): ConnectionTarget => ({
  ...{ kind: 'webSocket', headers: [], protocols: [], insecure: true, url },
})
const stream = { kind: 'tcp', host: '127.0.0.1', timeout: 10_000 } as const
const ways: [title: string, server: () => Server, target: (port: number) => ConnectionTarget][] = [
  ['TCP', () => createServer(), (port) => ({ ...stream, port })],
  ['TLS', () => createTlsServer(login), (port) => ({ ...stream, port, tls: { insecure: true } })],
  [
    'a WebSocket without pings',
    () => withWebSockets(createWebServer()),
    (port) => webSocketTo(`ws://127.0.0.1:${port}/`),
  ],
  [
    'a WebSocket over TLS without pings',
    () => withWebSockets(createSecureWebServer(login)),
    (port) => webSocketTo(`wss://127.0.0.1:${port}/`),
  ],
]

for (const [title, createDevice, target] of ways)
  test(
    `a device that goes without a word is asked after half a minute whether it is there, over ${title}`,
    { skip },
    async (t) => {
      const device = createDevice()
      const sockets: Socket[] = []
      device.on('connection', (socket: Socket) => sockets.push(socket))
      const port = await listen(device)
      const outside = createOutside({
        ...{ clock: systemClock, hostVersion: '1.2.3', environment: {}, rewrite: {}, ownPorts: () => [] },
      })
      t.after(async () => {
        await outside.close()
        for (const socket of sockets) socket.destroy()
        device.close()
      })
      await new Promise<void>((resolve, reject) => {
        openConnection(outside, target(port), (event) =>
          event.event === 'opened' ? resolve() : reject(new Error(JSON.stringify(event))),
        )
      })
      const [socket] = sockets
      assert.ok(socket?.remotePort)
      const milliseconds = await untilAsked(socket.remotePort, port)
      assert.ok(milliseconds !== 'none' && milliseconds <= 30_000, `${milliseconds}`)
    },
  )
