import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { until } from '../../helpers/until.ts'
import { createTcpProxy } from '../../helpers/tcp-proxy.ts'
import { collect, connect, createRecordingLogger, startBus, startExternalBus } from '../bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../mosquitto.ts'

/** Two hosts that work by themselves remove what the other one retains when they have one root. */

const options = { skip: mosquittoMissing }
/** The next attempt comes soon; everything else has its time. */
const hurriedClock = {
  ...systemClock,
  schedule: (milliseconds: number, callback: () => void) =>
    systemClock.schedule(milliseconds >= 2_000 ? milliseconds : 20, callback),
}

async function startHost(context: TestContext, url: string, root = 'host') {
  const logger = createRecordingLogger()
  const bus = await startExternalBus(context, url, { root, logger, clock: hurriedClock, random: () => 0 })
  const warnings = (): number =>
    logger.lines.filter(({ message }) => message.startsWith('Another host has the same root')).length
  const connections = (): number =>
    logger.lines.filter(({ message }) => message === 'Connected to the MQTT broker').length
  return { bus, warnings, connections }
}

test(
  'hosts with one root at a broker say so, once each, and one with another root does not',
  options,
  async (context) => {
    const mosquitto = await startMosquitto(context)
    const [one, apart] = [
      await startHost(context, mosquitto.url),
      await startHost(context, mosquitto.url, 'other'),
    ]
    assert.equal(one.warnings(), 0)
    const other = await startHost(context, mosquitto.url)
    await until('both to be told', async () => one.warnings() + other.warnings() === 2)
    const third = await startHost(context, mosquitto.url)
    await until('the third one to be told', async () => third.warnings() === 1)
    assert.deepEqual([one.warnings(), other.warnings(), apart.warnings()], [1, 1, 0])

    // A broker of MQTT 3.1.1 passes on nothing by which they could tell.
    const broker = await startBus(context, { root: 'elsewhere' })
    const older = [await startHost(context, broker.url), await startHost(context, broker.url)]
    for (const { bus } of older) await bus.flush()
    assert.deepEqual(
      older.map(({ warnings }) => warnings()),
      [0, 0],
    )
  },
)

test(
  'a host that is alone hears its own status again and again, and takes nobody for another',
  options,
  async (context) => {
    const mosquitto = await startMosquitto(context)
    const proxy = await createTcpProxy(context, mosquitto.url)
    const { bus, warnings, connections } = await startHost(context, `mqtt://127.0.0.1:${proxy.port}`)
    const client = await connect(context, mosquitto.url)
    const received = collect(client)
    await client.subscribeAsync('host/status', { qos: 1 })
    for (let count = 2; count <= 4; count += 1) {
      proxy.refuse()
      proxy.pass()
      await until('the connection', async () => connections() === count)
    }
    // A will that comes late, and a person who says it.
    for (const text of ['offline', 'online'])
      await client.publishAsync('host/status', text, { qos: 1, retain: true })
    await bus.close()
    while (received.all.at(-1)?.text !== 'offline') await received.take(received.all.length + 1)
    // A run before, which the broker still believes in.
    const again = await startHost(context, mosquitto.url)
    await again.bus.publish('host/end', '', { qos: 1 })
    await again.bus.flush()
    assert.deepEqual([warnings(), again.warnings()], [0, 0])
    // It would have noticed.
    await startHost(context, mosquitto.url)
    await until('it to be told', async () => again.warnings() === 1)
  },
)
