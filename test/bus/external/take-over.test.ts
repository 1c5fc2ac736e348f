import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { takeOverClient } from '../../../src/bus/external/take-over.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { until } from '../../helpers/until.ts'

test('a take-over whose time is over makes no further connection: nobody would ever end it', async (context) => {
  const arrived: Socket[] = []
  // A broker that is there and says nothing.
  const server = createServer((socket) => {
    arrived.push(socket)
    socket.on('error', () => undefined)
    socket.resume()
  })
  const port = await listen(server)
  context.after(() => {
    for (const socket of arrived) socket.destroy()
    server.close()
  })
  const clock = createManualClock()
  const refused = assert.rejects(
    takeOverClient(`mqtt://127.0.0.1:${port}`, 'lupine-home-h1-0-x-0', clock),
    /it does not answer in time/,
  )
  await until('the connection', async () => arrived.length === 1)
  clock.advance(5_000)
  await refused
  await until('its end', async () => arrived[0]?.closed === true)
  // Longer than another one would take to come.
  for (let own = 0; own < 10; own += 1) {
    const probe = connect(port, '127.0.0.1')
    await once(probe, 'connect')
    probe.destroy()
  }
  await until('the own ones', async () => arrived.length >= 11)
  assert.equal(arrived.length, 11)
})
