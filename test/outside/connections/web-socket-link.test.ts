import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test, type TestContext } from 'node:test'
import { type WebSocket, WebSocketServer } from 'ws'
import { createDeliveryWatchdog } from '../../../src/outside/connections/delivery-watchdog.ts'
import type { Link, LinkEnd } from '../../../src/outside/connections/link.ts'
import { openWebSocket, pongLimit } from '../../../src/outside/connections/web-socket-link.ts'
import { createOwnListeners } from '../../../src/outside/own-listeners.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock, type ManualClock } from '../../helpers/manual-clock.ts'

interface Stage {
  link: Link
  clock: ManualClock
  ends: LinkEnd[]
  /** `opened` and `ended`. */
  told: EventEmitter
}

function openTo(t: TestContext, { port }: { port: number }): Stage {
  const clock = createManualClock()
  const own = createOwnListeners({ ports: () => [] })
  const ends: LinkEnd[] = []
  const told = new EventEmitter()
  const link = openWebSocket(
    {
      ...{ kind: 'webSocket', url: `ws://127.0.0.1:${port}/` },
      ...{ headers: [], protocols: [], insecure: false, ping: 1_000 },
    },
    {
      opened: () => told.emit('opened'),
      ended(end) {
        ends.push(end)
        told.emit('ended')
      },
      ...{ message: () => undefined, silence: () => undefined, warn: () => undefined },
    },
    { own, clock, hostVersion: '1.2.3', watchDelivery: createDeliveryWatchdog({ clock }) },
  )
  t.after(() => link.destroy())
  return { link, clock, ends, told }
}

async function serve(t: TestContext): Promise<WebSocketServer> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  t.after(() => server.close())
  return server
}

test('a server whose pong waits while the plugin takes nothing is not left, and one that answers none later is', async (t) => {
  const server = await serve(t)
  const { link, clock, ends, told } = openTo(t, server.address() as AddressInfo)
  const [[peer]] = (await Promise.all([once(server, 'connection'), once(told, 'opened')])) as [
    [WebSocket],
    unknown,
  ]

  const answered = once(peer, 'ping')
  clock.advance(1_000)
  link.pause()
  await answered
  link.resume()
  // The pong has come, and nobody has read it yet.
  clock.advance(1_000)
  await Promise.race([once(peer, 'ping'), once(told, 'ended')])
  assert.deepEqual(ends, [])

  peer.pause()
  const ended = once(told, 'ended')
  clock.advance(1_000)
  clock.advance(1_000)
  await ended
  assert.deepEqual(ends, [{ reason: '127.0.0.1 does not answer pings', code: 1006 }])
})

test('a server whose pong has come while the host was paused is not left, and one that goes on saying nothing is', async (t) => {
  const server = await serve(t)
  const { clock, ends, told } = openTo(t, server.address() as AddressInfo)
  const [[peer]] = (await Promise.all([once(server, 'connection'), once(told, 'opened')])) as [
    [WebSocket],
    unknown,
  ]

  peer.once('ping', () => {
    clock.pause(60_000)
    clock.advance(0)
  })
  const answered = once(peer, 'ping')
  clock.advance(1_000)
  await answered
  // What is asked behind the pong is answered when that has been read.
  const read = once(peer, 'pong')
  peer.ping()
  await Promise.race([read, once(told, 'ended')])
  assert.deepEqual(ends, [])

  peer.pause()
  const ended = once(told, 'ended')
  clock.advance(1_000)
  clock.pause(60_000)
  clock.advance(0)
  clock.advance(1_000)
  await ended
  assert.deepEqual(ends, [{ reason: '127.0.0.1 does not answer pings', code: 1006 }])
})

test('a server that sends pongs without end is left, and one that sends many now and then is not', async (t) => {
  const server = await serve(t)
  const { clock, ends, told } = openTo(t, server.address() as AddressInfo)
  const [[peer]] = (await Promise.all([once(server, 'connection'), once(told, 'opened')])) as [
    [WebSocket],
    unknown,
  ]
  for (let second = 1; second <= 3; second += 1) {
    // One more answers the ping of the second before.
    for (let pong = 1; pong < pongLimit; pong += 1) peer.pong()
    // What is asked behind them is answered when they have been read.
    const answered = once(peer, 'pong')
    peer.ping()
    await answered
    const asked = once(peer, 'ping')
    clock.advance(1_000)
    await asked
  }
  assert.deepEqual(ends, [])

  const ended = once(told, 'ended')
  for (let pong = 0; pong <= 2 * pongLimit; pong += 1) peer.pong()
  await ended
  assert.deepEqual(ends, [{ reason: '127.0.0.1 has sent more than 1000 pongs in a second', code: 1006 }])
})

test('a server that says without end that its answer is still to come is left', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_001)))
  })
  const port = await listen(server)
  t.after(() => server.close())
  const { ends, told } = openTo(t, { port })
  await once(told, 'ended')
  assert.deepEqual(ends, [{ reason: '127.0.0.1 has sent more than 1000 interim answers (1xx)', code: 1006 }])
})
