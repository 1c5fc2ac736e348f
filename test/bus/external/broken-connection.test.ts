import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { closingTimeout } from '../../../src/bus/external/external-bus.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { until } from '../../helpers/until.ts'
import { collect, connect, createRecordingLogger, lateClock, startExternalBus } from '../bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../mosquitto.ts'

/** What becomes of messages that are under way to another broker when the connection ends. */

const options = { skip: mosquittoMissing }

async function createStage(context: TestContext) {
  const mosquitto = await startMosquitto(context)
  const way = await createTcpProxy(context, mosquitto.url)
  const logger = createRecordingLogger()
  const bus = await startExternalBus(context, `mqtt://127.0.0.1:${way.port}`, {
    logger,
    // The next attempt comes soon.
    clock: { ...systemClock, schedule: (_delay, callback) => systemClock.schedule(20, callback) },
  })
  const witness = await connect(context, mosquitto.url)
  const received = collect(witness)
  await witness.subscribeAsync('count/#', { qos: 1 })
  return { way, bus, logger, received }
}

test(
  'What the broker has not acknowledged when the connection breaks is sent again on the next one',
  options,
  async (context) => {
    const { way, bus, logger, received } = await createStage(context)
    await bus.publish('count/1', '', { qos: 1 })
    await received.take(1)
    // Its acknowledgement has come, too: otherwise it would be sent again, as QoS 1 may be.
    await bus.flush()
    way.hold()
    await bus.publish('count/2', '', { qos: 1 })
    await bus.publish('count/3', '', { qos: 1 })
    way.refuse()
    await until('the end of the connection', async () => !bus.connected)
    await bus.publish('count/4', '', { qos: 1 })
    way.pass()
    await until('the last', async () => received.all.some(({ topic }) => topic === 'count/4'))
    assert.deepEqual(
      received.all.map(({ topic }) => topic),
      ['count/1', 'count/2', 'count/3', 'count/4'],
    )
    assert.deepEqual(
      logger.lines.filter(({ message }) => message === 'The MQTT broker refused a message'),
      [],
    )
  },
)

test(
  'Who publishes more than a slow broker takes is asked to wait until it has caught up, and for none that is gone',
  options,
  async (context) => {
    const { way, bus } = await createStage(context)
    const send = bus.prepare('many')
    function congest(): Promise<void> {
      way.hold()
      for (let number = 0; number < 2_100; number += 1) send(Buffer.from('x'), { qos: 1, retain: false })
      const caughtUp = bus.congested()
      assert.ok(caughtUp !== undefined)
      return caughtUp
    }
    await until('the connection', async () => bus.connected)
    assert.equal(bus.congested(), undefined)
    const caughtUp = congest()
    way.pass()
    await caughtUp
    assert.equal(bus.congested(), undefined)
    const givenUp = congest()
    way.refuse()
    await givenUp
    assert.deepEqual([bus.connected, bus.congested()], [false, undefined])
  },
)

/** A host whose way to its broker can be held up, and whose wait at its end is over when the test says so. */
async function startOnSlowWay(context: TestContext) {
  const mosquitto = await startMosquitto(context)
  const way = await createTcpProxy(context, mosquitto.url)
  const { clock, late } = lateClock(closingTimeout)
  const bus = await startExternalBus(context, `mqtt://127.0.0.1:${way.port}`, { clock })
  return { mosquitto, way, late, bus }
}

test(
  'A host whose last word has not reached the broker in time leaves it to the broker to say that it is gone',
  options,
  async (context) => {
    const { mosquitto, way, late, bus } = await startOnSlowWay(context)
    const witness = await connect(context, mosquitto.url)
    const statuses = collect(witness)
    await witness.subscribeAsync('host/status', { qos: 1 })
    await statuses.take(1)
    way.hold()
    // More than the broker takes without an acknowledgement: the last word waits behind them.
    for (let number = 0; number < 100; number += 1)
      await bus.publish('count/many', String(number), { qos: 1 })
    const closed = bus.close()
    const [isLate] = await until('the wait for the last word', async () => late.size > 0 && late)
    isLate?.()
    way.pass()
    await closed
    await until('its end', async () => statuses.all.at(-1)?.text === 'offline')
  },
)

test(
  'A host that ends while its broker goes away waits for no answer to its last word',
  options,
  async (context) => {
    const { way, late, bus } = await startOnSlowWay(context)
    way.hold()
    const closed = bus.close()
    await until('the wait for the last word', async () => late.size > 0)
    way.refuse()
    await closed
    assert.equal(late.size, 0)
  },
)
