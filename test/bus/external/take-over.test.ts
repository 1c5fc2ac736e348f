import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { takeOverClient } from '../../../src/bus/external/take-over.ts'
import { systemClock } from '../../../src/base/time/clock.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { until } from '../../helpers/until.ts'
import { connect as connectClient, startBus } from '../bus-fixture.ts'

const clientId = 'lupine-home-h1-0-x-0'

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
    takeOverClient(`mqtt://127.0.0.1:${port}`, clientId, clock),
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

test('a broker that speaks only MQTT 3.1.1 hands a client id over, and nothing stays connected', async (context) => {
  const broker = await startBus(context)
  const before = await connectClient(context, broker.url, { clientId })
  const closed = once(before as never, 'close')
  await takeOverClient(broker.url, clientId, systemClock)
  await closed
  await until('the end of all', async () => broker.clients === 0)
})

test('a take-over with a password that the broker does not take fails, and says why', async (context) => {
  const broker = await startBus(context, { token: 'right-and-long' })
  for (const login of ['lupine:wrong@', ''])
    await assert.rejects(
      takeOverClient(broker.url.replace('//', `//${login}`), clientId, systemClock),
      /did not take a client id over: Connection refused: (Not authorized|Bad username or password)$/,
    )
})
