import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer as createWebServer } from 'node:http'
import type { Server } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { WebSocketServer } from 'ws'
import { createOutside } from '../../../src/outside/outside.ts'
import type { ConnectionEvent, ConnectionTarget } from '../../../src/schema/outside/connection.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { openConnection } from './open-connection.ts'

const tlsFolder = join(import.meta.dirname, '..', '..', 'fixtures', 'tls')

const ways: [title: string, server: () => Server, target: (port: number) => ConnectionTarget][] = [
  [
    'TLS',
    () =>
      createTlsServer({
        cert: readFileSync(join(tlsFolder, 'certificate.pem')),
        key: readFileSync(join(tlsFolder, 'key.pem')),
      }),
    (port) => ({ kind: 'tcp', host: '127.0.0.1', port, timeout: 10_000, tls: { insecure: true } }),
  ],
  [
    'a WebSocket',
    () => {
      const server = createWebServer()
      new WebSocketServer({ server })
      return server
    },
    (port) => ({
      ...{ kind: 'webSocket', url: `ws://127.0.0.1:${port}/` },
      ...{ headers: [], protocols: [], insecure: false },
    }),
  ],
  [
    'an answer that goes on',
    () => createWebServer((_request, response) => response.write('some')),
    (port) => ({
      kind: 'httpStream',
      request: {
        ...{ url: `http://127.0.0.1:${port}/`, method: 'GET' },
        ...{ headers: [], timeout: 10_000, insecure: false },
      },
      reconnect: { min: 1_000, max: 60_000 },
    }),
  ],
]

for (const [title, createDevice, target] of ways)
  test(`${title}: a connection that came about while the host was paused is open`, async (t) => {
    const clock = createManualClock()
    const device = createDevice()
    // Before the host can hear of it.
    device.once('connection', () => {
      clock.pause(60_000)
      clock.advance(0)
    })
    const port = await listen(device)
    const outside = createOutside({
      ...{ clock, hostVersion: '1.2.3', environment: {}, rewrite: {}, ownPorts: () => [] },
    })
    t.after(async () => {
      await outside.close()
      device.close()
    })
    const heard = new Promise<ConnectionEvent>((resolve) => {
      openConnection(outside, target(port), resolve)
    })
    assert.equal((await heard).event, 'opened')
  })
