import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { systemClock } from '../../../src/base/time/clock.ts'
import { createExternalBus, startTimeout, type BusSession } from '../../../src/bus/external/external-bus.ts'
import { takeOverClient } from '../../../src/bus/external/take-over.ts'
import { listen } from '../../helpers/listen.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { until } from '../../helpers/until.ts'
import { connect, createRecordingLogger, lateClock, startExternalBus } from '../bus-fixture.ts'
import { createMosquitto, mosquittoMissing, startMosquitto } from '../mosquitto.ts'

/** A bus that speaks for a session: under its client id, and only as long as it may. */

const options = { skip: mosquittoMissing }
const clientId = 'lupine-home-h1-0-x-0'
const always: BusSession = { clientId: () => clientId, permit: () => () => true }

async function createStage(context: TestContext, session: BusSession = always) {
  const mosquitto = await startMosquitto(context)
  const way = await createTcpProxy(context, mosquitto.url)
  const logger = createRecordingLogger()
  const bus = createExternalBus({
    ...{ url: `mqtt://127.0.0.1:${way.port}`, root: 'fleet', logger, session },
    statusTopic: 'fleet/hosts/h1/status',
    clock: { ...systemClock, schedule: (_delay, callback) => systemClock.schedule(20, callback) },
  })
  context.after(() => bus.close())
  const witness = await connect(context, mosquitto.url)
  const seen: string[] = []
  witness.on('message', (topic, payload) => void seen.push(`${topic} ${payload.toString()}`))
  await witness.subscribeAsync('#')
  return { mosquitto, way, bus, seen, logger }
}

test(
  'nothing that is still on the way goes any further once the client id was taken over',
  options,
  async (context) => {
    const { mosquitto, way, bus, seen } = await createStage(context)
    await bus.start()
    await bus.publish('p/first', '1')
    await until('the first message', async () => seen.includes('p/first 1'))
    way.hold()
    for (const qos of [0, 1, 2] as const) await bus.publish('p/late', String(qos), { qos })
    await takeOverClient(mosquitto.url, clientId, systemClock)
    const other = await connect(context, mosquitto.url)
    await other.publishAsync('p/next', 'x', { qos: 1 })
    way.pass()
    // The bus has seen the end of its connection, so all that was on the way has come to its end.
    await until('the end of the connection', async () => !bus.connected)
    await until('the next holder', async () => seen.includes('p/next x'))
    assert.deepEqual(seen.filter((line) => line.startsWith('p/')).slice(0, 2), ['p/first 1', 'p/next x'])
  },
)

for (const { title, session, seconds } of [
  { title: 'a host of a fleet, whose plugins others may run,', session: always, seconds: 8 },
  { title: 'a host by itself', session: undefined, seconds: 30 },
])
  test(`${title} promises the broker a sign of life every ${seconds} s`, async (context) => {
    const server = createServer()
    const port = await listen(server)
    const said = new Promise<Buffer>((resolve) => {
      server.on('connection', (socket) =>
        socket.once('data', (bytes) => {
          resolve(bytes)
          socket.destroy()
        }),
      )
    })
    const bus = createExternalBus({
      ...{ url: `mqtt://127.0.0.1:${port}`, root: 'fleet', logger: silentLogger, clock: systemClock },
      ...(session === undefined ? {} : { session }),
    })
    context.after(async () => {
      await bus.close()
      server.close()
    })
    const started = bus.start()
    const bytes = await said
    // Behind the name of the protocol there are its level, the flags and the seconds.
    assert.equal(bytes.readUInt16BE(bytes.indexOf('MQTT') + 6), seconds)
    await bus.close()
    await started.catch(() => undefined)
  })

test(
  'without a take-over what was on the way arrives: so the test before can fail',
  options,
  async (context) => {
    const { way, bus, seen } = await createStage(context)
    await bus.start()
    way.hold()
    await bus.publish('p/late', '1')
    way.pass()
    await until('the late message', async () => seen.includes('p/late 1'))
  },
)

test(
  'the broker says that a host is not there once its client id was taken over',
  options,
  async (context) => {
    const { mosquitto, way, bus, seen } = await createStage(context)
    await bus.start()
    await until('online', async () => seen.includes('fleet/hosts/h1/status online'))
    way.refuse()
    await takeOverClient(mosquitto.url, clientId, systemClock)
    await until('offline', async () => seen.includes('fleet/hosts/h1/status offline'))
  },
)

test(
  'what waits is asked about when it goes, on the connection that it goes over',
  options,
  async (context) => {
    let allowed = 'all'
    const session: BusSession = {
      ...always,
      permit: (publisher) => () => publisher === undefined || allowed === 'all' || publisher === allowed,
    }
    const { way, bus, seen } = await createStage(context, session)
    await bus.start()
    way.refuse()
    await until('the end of the connection', async () => !bus.connected)
    await bus.publish('p/a', 'waited', { publisher: '@x/a', qos: 1 })
    bus.prepare('p/b', '@x/b')(Buffer.from('waited'), { qos: 0, retain: false })
    allowed = '@x/b'
    way.pass()
    await until('what may go', async () => seen.includes('p/b waited'))
    await bus.publish('p/a', 'now', { publisher: '@x/a' })
    await bus.publish('host', 'speaks')
    await until('the host', async () => seen.includes('host speaks'))
    assert.deepEqual(
      seen.filter((line) => line.startsWith('p/')),
      ['p/b waited'],
    )
  },
)

test(
  'what was sent and not acknowledged is asked about again on the next connection',
  options,
  async (context) => {
    let isAllowed = true
    const { way, bus, seen } = await createStage(context, { ...always, permit: () => () => isAllowed })
    await bus.start()
    way.hold()
    await bus.publish('p/a', 'unanswered', { qos: 1, publisher: '@x/a' })
    isAllowed = false
    way.refuse()
    await until('the end of the connection', async () => !bus.connected)
    way.pass()
    await until('the next connection', async () => bus.connected)
    isAllowed = true
    await bus.publish('p/a', 'allowed', { qos: 1, publisher: '@x/a' })
    await until('what may go', async () => seen.includes('p/a allowed'))
    assert.ok(!seen.includes('p/a unanswered'))
  },
)

test(
  'a flush is answered after everything that was published before has reached the broker',
  options,
  async (context) => {
    const { mosquitto, way, bus } = await createStage(context)
    await bus.start()
    way.hold()
    for (let nth = 0; nth < 500; nth += 1) {
      const qos = (nth % 3) as 0 | 1 | 2
      await bus.publish(`p/value/${qos}`, String(nth), { qos, retain: true })
    }
    let isAnswered = false
    const flushed = bus.flush().then(() => (isAnswered = true))
    const other = await connect(context, mosquitto.url)
    await other.publishAsync('p/other', 'x', { qos: 1 })
    assert.equal(isAnswered, false)
    way.pass()
    await flushed
    const received: string[] = []
    other.on('message', (topic, payload) => void received.push(`${topic} ${payload.toString()}`))
    await other.subscribeAsync('p/value/+')
    await until('the retained messages', async () => received.length === 3)
    assert.deepEqual(received.sort(), ['p/value/0 498', 'p/value/1 499', 'p/value/2 497'])
  },
)

test(
  'what has to arrive is done once the broker has it, or nobody wants it, and not where the host may not speak',
  options,
  async (context) => {
    let maySpeak = true
    const session: BusSession = {
      ...always,
      permit: (publisher) => () => maySpeak || publisher !== undefined,
    }
    const { way, bus, seen } = await createStage(context, session)
    await bus.start()
    const done: string[] = []
    const deliver = (text: string, isWanted = true): void =>
      bus.deliver('p/a', text, { isWanted: () => isWanted, done: () => void done.push(text) })
    way.hold()
    deliver('first')
    deliver('unwanted', false)
    assert.deepEqual(done, ['unwanted'])
    way.pass()
    await until('the answer of the broker', async () => done.includes('first'))
    maySpeak = false
    deliver('forbidden')
    await bus.publish('p/b', 'last', { publisher: '@x/a' })
    await until('the last', async () => seen.includes('p/b last'))
    assert.throws(() => bus.deliver('p/#', '', { isWanted: () => true, done: () => undefined }))
    await bus.close()
    maySpeak = true
    deliver('too late')
    assert.deepEqual(done, ['unwanted', 'first'])
    assert.deepEqual(
      seen.filter((line) => line.startsWith('p/')),
      ['p/a first', 'p/b last'],
    )
  },
)

test('a flush fails with its connection, and works on the next one', options, async (context) => {
  const { way, bus } = await createStage(context)
  await bus.start()
  await until('the connection', async () => bus.connected)
  way.hold()
  const flushed = bus.flush()
  // It has been asked for by then.
  await new Promise(setImmediate)
  way.refuse()
  await assert.rejects(flushed)
  way.pass()
  await until('the next connection', async () => bus.connected)
  await bus.flush()
})

test('each session has a connection of its own, and none without a session', options, async (context) => {
  let id: string | undefined
  const { mosquitto, bus, seen, logger } = await createStage(context, { ...always, clientId: () => id })
  await bus.start()
  assert.equal(bus.connected, false)
  id = clientId
  bus.renew()
  await until('the connection', async () => bus.connected)
  await bus.publish('p/a', '1')
  await until('the message', async () => seen.includes('p/a 1'))
  id = undefined
  bus.renew()
  assert.equal(bus.connected, false)
  await until('the last word', async () => seen.includes('fleet/hosts/h1/status offline'))
  id = 'lupine-home-h1-9-x-1'
  bus.renew()
  await until('the next connection', async () => bus.connected)
  await until('its first word', async () => seen.at(-1) === 'fleet/hosts/h1/status online')
  seen.length = 0
  await takeOverClient(mosquitto.url, clientId, systemClock)
  await bus.publish('p/a', '2')
  await until('a message of the session that is not meant', async () => seen.includes('p/a 2'))
  assert.deepEqual(seen, ['p/a 2'])
  // That a connection ends is no fault where it was wanted.
  assert.ok(!logger.lines.some(({ message }) => message === 'The MQTT broker is gone'))
})

test('a take-over at a broker that is not there fails', options, async (context) => {
  const mosquitto = await createMosquitto(context)
  await assert.rejects(
    takeOverClient(mosquitto.url, clientId, systemClock),
    /did not take a client id over: .*ECONNREFUSED/,
  )
})

test('a start waits for no connection that is not to be, nor for one once the bus is closed', async (context) => {
  const { clock, late } = lateClock(startTimeout)
  const nobody = { ...always, clientId: () => undefined }
  const server = createServer()
  const url = `mqtt://127.0.0.1:${await listen(server)}`
  context.after(() => server.close())
  const bus = await startExternalBus(context, url, { clock, session: nobody })
  assert.deepEqual([bus.connected, late.size], [false, 0])
  // Somebody is there and says nothing.
  const silent = createExternalBus({ url, root: 'host', logger: silentLogger, clock })
  const started = silent.start()
  assert.equal(late.size, 1)
  await silent.close()
  await started
  assert.equal(late.size, 0)
})
