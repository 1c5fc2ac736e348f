import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { createExternalBus } from '../../src/bus/external/external-bus.ts'
import { collect, connect, createRecordingLogger, lines } from './bus-fixture.ts'
import { createMosquitto, mosquittoMissing } from './mosquitto.ts'

/** Brokers elsewhere that do not take all that there is in MQTT, and say so. */

const options = { skip: mosquittoMissing }

async function startOn(context: TestContext, config: string[]) {
  const mosquitto = await createMosquitto(context, ['allow_anonymous true', ...config])
  await mosquitto.start()
  const logger = createRecordingLogger()
  const bus = createExternalBus({ url: mosquitto.url, root: 'host', logger, clock: systemClock })
  context.after(() => bus.close())
  await bus.start()
  const client = await connect(context, mosquitto.url)
  const heard = collect(client)
  await client.subscribeAsync('#', { qos: 2 })
  return { bus, heard, warnings: () => logger.lines.filter(({ level }) => level !== 'info') }
}

for (const highest of [1, 0])
  test(
    `A broker that takes no more than QoS ${highest} gets messages of more with that`,
    options,
    async (context) => {
      const { bus, heard, warnings } = await startOn(context, [`max_qos ${highest}`])
      assert.equal(bus.connected, true)
      for (const qos of [0, 1, 2] as const) await bus.publish(`at/${qos}`, 'x', { qos })
      const [status, ...messages] = await heard.take(4)
      assert.deepEqual([status?.topic, status?.text], ['host/status', 'online'])
      assert.deepEqual(
        messages.map(({ topic, qos }) => [topic, qos]),
        [
          ['at/0', 0],
          ['at/1', highest],
          ['at/2', highest],
        ],
      )
      assert.deepEqual(warnings(), [])
    },
  )

test(
  'A broker that retains nothing is told all the same, and it is said once what that means',
  options,
  async (context) => {
    const { bus, heard, warnings } = await startOn(context, ['retain_available false'])
    assert.equal(bus.connected, true)
    await bus.publish('state', 'first', { retain: true })
    await bus.publish('state', 'second', { qos: 1, retain: true })
    assert.deepEqual(lines(await heard.take(2)), ['state first', 'state second'])
    await bus.close()
    assert.deepEqual(lines(await heard.take(3)).at(-1), 'host/status offline')
    assert.deepEqual(
      warnings().map(({ message }) => message),
      ['The MQTT broker retains nothing: who comes later hears only of changes'],
    )
  },
)
