import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { connect, startBus } from './bus-fixture.ts'

const operationPage = join(import.meta.dirname, '..', '..', 'docs', 'operation.md')

test('the built-in broker speaks MQTT 3.1 and 3.1.1, as the page says, and tells a client of MQTT 5 that it does not', async (context) => {
  const bus = await startBus(context)
  for (const version of [
    { protocolId: 'MQIsdp', protocolVersion: 3 },
    { protocolId: 'MQTT', protocolVersion: 4 },
  ] as const) {
    const client = await connect(context, bus.url, version)
    assert.ok(client.connected)
  }
  await assert.rejects(mqtt.connectAsync(bus.url, { protocolVersion: 5, reconnectPeriod: 0 }, false), {
    message: /unacceptable protocol version/i,
  })
  assert.match(await readFile(operationPage, 'utf8'), /The built-in broker speaks MQTT 3\.1 and 3\.1\.1\./)
})
