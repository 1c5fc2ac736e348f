import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { createDeliveryWatchdog } from '../../../src/outside/connections/delivery-watchdog.ts'
import { openHttpStream } from '../../../src/outside/connections/http-stream-link.ts'
import { createFinders } from '../../../src/outside/discovery/finders.ts'
import { createCookieJars } from '../../../src/outside/http/cookie-jars.ts'
import { createHttpClient } from '../../../src/outside/http/http-client.ts'
import { createOwnListeners } from '../../../src/outside/own-listeners.ts'
import { listen } from '../../helpers/listen.ts'

const bytes = 10_000

test('what a server sends byte by byte is told in few pieces', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () =>
      socket.end(
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(bytes)}0\r\n\r\n`,
      ),
    )
  })
  const port = await listen(server)
  t.after(() => server.close())
  const clock = systemClock
  const own = createOwnListeners({ ports: () => [] })
  const http = createHttpClient({
    ...{ clock, hostVersion: '1.2.3', environment: {}, rewrite: {}, own },
    jars: createCookieJars(clock.now),
  })
  t.after(() => http.close())
  const pieces: number[] = []
  await new Promise<void>((resolve) => {
    const link = openHttpStream(
      {
        plugin: '@test/probe',
        request: {
          url: `http://127.0.0.1:${port}/`,
          method: 'GET',
          headers: [],
          timeout: 30_000,
          insecure: false,
        },
        ...{ lastEventId: '', connect: () => undefined },
      },
      {
        message: (payload) => pieces.push(payload.byteLength),
        ended: () => resolve(),
        ...{ opened: () => undefined, silence: () => undefined, warn: () => undefined },
      },
      {
        ...{ clock, own, hostVersion: '1.2.3', http, watchDelivery: createDeliveryWatchdog({ clock }) },
        finders: () => Promise.resolve(createFinders(clock, {})),
      },
    )
    t.after(() => link.destroy())
  })
  assert.equal(
    pieces.reduce((sum, size) => sum + size, 0),
    bytes,
  )
  assert.ok(pieces.length <= bytes / 100, `told in ${pieces.length} pieces`)
})
