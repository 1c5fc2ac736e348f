import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { waitingMessagesLimit } from '../../../src/bus/external/outgoing-queue.ts'
import { publisherTime, quarantineTime } from '../../../src/bus/external/quarantine.ts'
import { until } from '../../helpers/until.ts'
import {
  collect,
  collectFromBus,
  connect,
  createRecordingLogger,
  lines,
  startExternalBus,
} from '../bus-fixture.ts'
import { type IsTaken, startStrictBroker } from '../strict-broker.ts'

/** Brokers that end the connection over what they do not take: the rest must get through. */

/** Milliseconds up to which a wait is one for the next connection, which comes at once here. */
const longestAttempt = 8_000
const heldFor = new Set([quarantineTime.first, quarantineTime.first * 2, publisherTime])

/** Of a broker that takes nothing of what begins with `bad`, or has more than a thousand bytes. */
const isUsual: IsTaken = (topic, bytes) => !topic.startsWith('bad') && bytes <= 1_000

/** A host at a broker that takes only some things; `isLate`: as in `startStrictBroker`. */
async function createStage(context: TestContext, isTaken = isUsual, isLate = false) {
  const broker = await startStrictBroker(context, isTaken, isLate)
  const logger = createRecordingLogger()
  const releases = new Set<() => void>()
  const bus = await startExternalBus(context, broker.url, {
    logger,
    clock: {
      ...systemClock,
      schedule(milliseconds, callback) {
        if (!heldFor.has(milliseconds))
          return systemClock.schedule(milliseconds <= longestAttempt ? 1 : milliseconds, callback)
        releases.add(callback)
        return { cancel: () => void releases.delete(callback) }
      },
    },
  })
  const witness = await connect(context, broker.url)
  const received = collect(witness)
  await witness.subscribeAsync('good/#', { qos: 1 })
  const held = () =>
    logger.lines
      .filter(({ message }) => message.startsWith('The MQTT broker ends the connection'))
      .map(({ fields: { topic, filter, plugin } = {} }) => topic ?? filter ?? plugin)
  return {
    ...{ broker, bus, witness, received, held },
    /** Published now, and each time that there is a new connection, as what the host retains. */
    announce(...messages: [topic: string, payload?: string][]) {
      const publish = () => {
        for (const [topic, payload = 'x'] of messages) void bus.publish(topic, payload, { retain: true })
      }
      bus.onReconnect(publish)
      publish()
    },
    isHeld: (...topics: string[]) =>
      until('the refusal', async () => topics.every((topic) => held().includes(topic))),
    /** How much is kept back. */
    waiting: () => releases.size,
    /** What waits for its time is tried again. */
    release() {
      const calls = [...releases]
      releases.clear()
      for (const call of calls) call()
    },
    /** Whether the broker takes these and the connection holds. */
    async isSteady(...topics: string[]) {
      await until('the connection', async () => bus.connected)
      const before = broker.connections
      for (const topic of topics) await bus.publish(topic, 'steady', { qos: 1 })
      await bus.flush()
      const isHeard = (topic: string): boolean =>
        received.all.some((message) => message.topic === topic && message.text === 'steady')
      await until('all of them', async () =>
        topics.filter((topic) => topic.startsWith('good/')).every(isHeard),
      )
      return broker.connections === before
    },
  }
}

test('A message over which the broker ends the connection is kept back, and all others get through', async (context) => {
  const { bus, received, announce, held, isHeld, isSteady } = await createStage(context)
  announce(['good/1'], ['bad/1'], ['good/2'])
  await isHeld('bad/1')
  assert.equal(await isSteady('good/3', 'bad/1', 'good/4'), true)
  assert.deepEqual(held(), ['bad/1'])
  const topics = new Set(received.all.map(({ topic }) => topic))
  assert.deepEqual([...topics].sort(), ['good/1', 'good/2', 'good/3', 'good/4'])
  await bus.close()
})

test('Several of them are kept back, each by itself', async (context) => {
  const { announce, held, isHeld, isSteady } = await createStage(context)
  announce(['bad/1'], ['good/1'], ['bad/2'], ['bad/3'])
  await isHeld('bad/1', 'bad/2', 'bad/3')
  assert.equal(await isSteady('good/1', 'bad/1', 'bad/2', 'bad/3'), true)
  assert.deepEqual(new Set(held()), new Set(['bad/1', 'bad/2', 'bad/3']))
})

test('A message of QoS 1 that is kept back is lost, and who waits for it is told', async (context) => {
  const { bus, isHeld, isSteady } = await createStage(context)
  const done = new Promise<void>((resolve) => {
    bus.deliver('bad/kept', 'x', { isWanted: () => true, done: resolve })
  })
  await isHeld('bad/kept')
  await done
  assert.equal(await isSteady('good/1'), true)
})

test('What was kept back is tried again after a while: by itself, and then like any other', async (context) => {
  const { broker, witness, announce, received, waiting, isHeld, isSteady, release } =
    await createStage(context)
  announce(['bad/1'], ['good/1'])
  await isHeld('bad/1')
  assert.equal(await isSteady('good/1'), true)
  const before = broker.connections
  release()
  // Refused once more, it is kept back at once, and longer.
  await until('the second refusal', async () => waiting() === 1)
  assert.equal(await isSteady('good/1'), true)
  assert.equal(broker.connections, before + 1)
  broker.relent()
  await witness.subscribeAsync('bad/#', { qos: 1 })
  release()
  await until('the message', async () => received.all.some(({ topic }) => topic === 'bad/1'))
  assert.equal(await isSteady('bad/1'), true)
  assert.equal(waiting(), 0)
})

test('Filters over which the broker ends the connection are kept back, and subscribed to once they may be', async (context) => {
  const { broker, bus, witness, held, isHeld, isSteady, release } = await createStage(context)
  const good = await collectFromBus(bus, 'good/#')
  const bad = await collectFromBus(bus, 'bad/#')
  await bus.subscribe('bad', () => undefined)
  await isHeld('bad/#', 'bad')
  assert.equal(await isSteady('good/1'), true)
  await good.take(1)
  assert.deepEqual(new Set(held()), new Set(['bad/#', 'bad']))
  broker.relent()
  release()
  await bus.flush()
  await witness.publishAsync('bad/1', 'x', { qos: 1 })
  await bad.take(1)
})

test('A plugin that sends each message to another topic that the broker refuses is kept back itself', async (context) => {
  const { broker, bus, announce, received, isHeld, isSteady, release } = await createStage(context)
  const plugin = '@a/hostile'
  announce(['good/other'])
  let number = 0
  const send = async () => {
    await bus.publish(`bad/${(number += 1)}`, 'x', { publisher: plugin })
    await bus.publish('good/own', String(number), { publisher: plugin })
  }
  bus.onReconnect(() => void send())
  await send()
  await isHeld(plugin)
  await isSteady('good/other')
  const before = [broker.connections, number]
  for (let time = 0; time < 10; time += 1) await send()
  await bus.publish('good/new', 'x', { publisher: plugin })
  await bus.flush()
  assert.deepEqual([broker.connections, number], [before[0], (before[1] ?? 0) + 10])
  // What the broker has taken of it before goes on.
  await until('the last', async () => lines(received.all).includes(`good/own ${number}`))
  assert.equal(
    received.all.some(({ topic }) => topic === 'good/new'),
    false,
  )
  broker.relent()
  release()
  await bus.publish('good/new', 'x', { publisher: plugin })
  await until('the new one', async () => received.all.some(({ topic }) => topic === 'good/new'))
})

test('A message that is larger than the broker takes is kept back, and smaller ones on its topic are not', async (context) => {
  const { bus, received, announce, held, isHeld, isSteady } = await createStage(context)
  const large = 'x'.repeat(2_000)
  announce(['good/value'], ['good/other'], ['good/value', large])
  await isHeld('good/value')
  assert.equal(await isSteady('good/other', 'good/value'), true)
  await bus.publish('good/value', large)
  assert.equal(await isSteady('good/value'), true)
  assert.deepEqual(held(), ['good/value'])
  assert.equal(
    received.all.some(({ text }) => text === large),
    false,
  )
})

test('Connections that end by chance have nothing kept back, and what is to be acknowledged arrives', async (context) => {
  const { broker, bus, announce, held } = await createStage(context)
  announce(...Array.from({ length: 100 }, (_, number): [string] => [`good/${number}`]))
  await bus.subscribe('good/#', () => undefined)
  const expected: string[] = []
  for (let time = 0; time < 6; time += 1) {
    await until('the connection', async () => bus.connected)
    const before = broker.connections
    for (let number = 0; number < 10; number += 1) {
      expected.push(`good/once/${time}-${number}`)
      await bus.publish(`good/once/${time}-${number}`, '', { qos: 1 })
    }
    broker.cut()
    await until('the next one', async () => broker.connections > before)
  }
  await until('all of them', async () => expected.every((topic) => broker.topics.has(topic)))
  assert.deepEqual(held(), [])
})

test('A plugin that sends two messages at a time to new topics that the broker refuses is kept back itself', async (context) => {
  const { bus, broker, announce, held, isHeld, isSteady } = await createStage(context)
  const publisher = '@a/hostile'
  announce(['good/other'])
  let number = 0
  const send = async () => {
    for (let one = 0; one < 2; one += 1) await bus.publish(`bad/${(number += 1)}`, 'x', { publisher })
  }
  bus.onReconnect(() => void send())
  await send()
  await isHeld(publisher)
  assert.equal(await isSteady('good/other'), true)
  const before = broker.connections
  await send()
  assert.equal(await isSteady('good/other'), true)
  assert.equal(broker.connections, before)
  assert.ok(held().includes(publisher))
})

test('A filter that is kept back is not taken back at the broker, which was never asked for it', async (context) => {
  const { broker, bus, isHeld, isSteady } = await createStage(context)
  const subscription = await bus.subscribe('bad/#', () => undefined)
  await isHeld('bad/#')
  assert.equal(await isSteady('good/1'), true)
  await subscription.close()
  const again = await bus.subscribe('bad/#', () => undefined)
  await again.close()
  await bus.flush()
  assert.equal(broker.unsubscribed.has('bad/#'), false)
  const good = await bus.subscribe('good/#', () => undefined)
  await good.close()
  await bus.flush()
  assert.equal(broker.unsubscribed.has('good/#'), true)
})

test('A message of QoS 1 is found out, too, at a broker that answers what came after it first', async (context) => {
  const { bus, isHeld, isSteady } = await createStage(context, isUsual, true)
  await bus.publish('bad/late', 'x', { qos: 1 })
  await isHeld('bad/late')
  assert.equal(await isSteady('good/1'), true)
})

for (const isLate of [false, true])
  test(`The status of the host is kept back, too, and said as soon as it may be${isLate ? ', at a broker that answers what came after it first' : ''}`, async (context) => {
    const refused = 'host/status'
    const isTaken: IsTaken = (topic, bytes) => topic !== refused || bytes === 0
    const { broker, bus, witness, received, announce, held, isHeld, isSteady, waiting, release } =
      await createStage(context, isTaken, isLate)
    announce(['good/1'], ['good/2'])
    await isHeld(refused)
    assert.equal(await isSteady('good/3'), true)
    assert.deepEqual(held(), [refused])
    const before = broker.connections
    release()
    // Refused once more, it is kept back at once, and longer.
    await until('the second refusal', async () => waiting() === 1)
    assert.equal(await isSteady('good/4'), true)
    assert.equal(broker.connections, before + 1)
    broker.relent()
    await witness.subscribeAsync(refused, { qos: 1 })
    release()
    await until('the status', async () => lines(received.all).includes('host/status online'))
    assert.equal(await isSteady('good/5'), true)
    assert.equal(waiting(), 0)
    await bus.close()
    await until('the end', async () => lines(received.all).includes('host/status offline'))
  })

test('The status of the host gives way to no other message, however many wait', async (context) => {
  const refused = 'host/status'
  const { broker, bus, witness, received, isHeld, isSteady, release } = await createStage(
    context,
    (topic, bytes) => topic !== refused || bytes === 0,
  )
  await isHeld(refused)
  assert.equal(await isSteady('good/1'), true)
  broker.relent()
  await witness.subscribeAsync(refused, { qos: 1 })
  // It goes alone, so it waits for this one to be answered.
  void bus.publish('good/2', 'x', { qos: 1 })
  release()
  for (let number = 0; number <= waitingMessagesLimit; number += 1) void bus.publish('good/3', 'x')
  await until('the status', async () => lines(received.all).includes('host/status online'))
})
