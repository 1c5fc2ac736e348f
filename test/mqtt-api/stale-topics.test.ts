import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collect, connect } from '../bus/bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../bus/mosquitto.ts'
import { startHome } from '../host/former-names-stage.ts'
import { until } from '../helpers/until.ts'

/** More than mosquitto keeps waiting for one subscriber, and than the host has cleared in one go. */
const count = 8_000

test(
  'What a former run left goes from an external broker, also when it is more than that keeps for a subscriber',
  { skip: mosquittoMissing },
  async (context) => {
    const { url: mqttUrl } = await startMosquitto(context)
    const client = await connect(context, mqttUrl)
    const ghosts = Array.from({ length: count }, (_, index) => `host/plugins/@a/b/sensors/s${index}`)
    await Promise.all(ghosts.map((topic) => client.publishAsync(topic, '1', { retain: true, qos: 1 })))
    await client.publishAsync('host/mine', '1', { retain: true, qos: 1 })

    await startHome(context, { mqttRoot: 'host', mqttUrl })
    await until(
      'nothing of the former run',
      async () => {
        const reader = await connect(context, mqttUrl)
        const received = collect(reader)
        await reader.subscribeAsync(['host/plugins/@a/#', 'host/mine'], { qos: 0 })
        await reader.publishAsync('host/mine', 'last', { qos: 1 })
        while (!received.all.some(({ text }) => text === 'last')) await received.take(received.all.length + 1)
        await reader.endAsync()
        assert.ok(received.all.some(({ topic, retain }) => topic === 'host/mine' && retain))
        return received.all.every(({ topic, retain }) => topic === 'host/mine' || !retain)
      },
      20_000,
    )
  },
)
