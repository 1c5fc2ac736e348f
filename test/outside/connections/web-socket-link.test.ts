import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type WebSocket, WebSocketServer } from 'ws'
import { createDelivery } from '../../../src/outside/connections/delivery.ts'
import type { LinkEnd } from '../../../src/outside/connections/link.ts'
import { openWebSocket } from '../../../src/outside/connections/web-socket-link.ts'
import { createOwnListeners } from '../../../src/outside/own-listeners.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

test('a server whose pong waits while the plugin takes nothing is not left, and one that answers none later is', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  t.after(() => server.close())
  const clock = createManualClock()
  const own = createOwnListeners({ ports: () => [] })
  const ends: LinkEnd[] = []
  const told = new EventEmitter()
  const link = openWebSocket(
    {
      ...{ kind: 'webSocket', url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/` },
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
    { own, clock, hostVersion: '1.2.3', delivery: createDelivery({ clock }) },
  )
  t.after(() => link.destroy())
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
