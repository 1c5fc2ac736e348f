import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { command, logMessages, startHostFor } from '../helpers/test-host.ts'
import { connect, createRecordingLogger, startBus } from './bus-fixture.ts'

const operationPage = join(import.meta.dirname, '..', '..', 'docs', 'operation.md')

test('the built-in broker speaks MQTT 3.1 and 3.1.1, as the page says, and tells a client of MQTT 5, and the log, that it does not', async (context) => {
  const logger = createRecordingLogger()
  const bus = await startBus(context, { logger })
  for (const version of [
    { protocolId: 'MQIsdp', protocolVersion: 3 },
    { protocolId: 'MQTT', protocolVersion: 4 },
  ] as const) {
    const client = await connect(context, bus.url, version)
    assert.ok(client.connected)
  }
  const newer = { protocolVersion: 5, reconnectPeriod: 0, clientId: 'flows' } as const
  await assert.rejects(mqtt.connectAsync(bus.url, newer, false), {
    message: /unacceptable protocol version/i,
  })
  assert.deepEqual(
    logger.lines.map(({ message, fields }) => [message, fields?.client]),
    [['An MQTT client was refused: it asks for MQTT 5; set it to 3.1.1', 'flows']],
  )
  assert.match(await readFile(operationPage, 'utf8'), /The built-in broker speaks MQTT 3\.1 and 3\.1\.1\./)
})

test('A shared subscription, of which MQTT 3.1.1 knows nothing, is refused and told of: it was granted, and nothing came', async (context) => {
  const logger = createRecordingLogger()
  const bus = await startBus(context, { logger })
  const client = await connect(context, bus.url)
  const granted = await new Promise<number[]>((resolve) => {
    client.on('packetreceive', (packet) => {
      if (packet.cmd === 'suback') resolve(packet.granted.map(Number))
    })
    client.subscribe({ '$share/workers/jobs/#': { qos: 1 }, 'jobs/#': { qos: 1 } }, () => undefined)
  })
  assert.deepEqual(granted, [128, 1])
  const told = logger.lines.filter(({ message }) => message.includes('shared'))
  assert.deepEqual(
    told.map(({ fields }) => fields?.filter),
    ['$share/workers/jobs/#'],
  )
})

test('A plugin is told in its log that its shared subscription takes another broker', async (context) => {
  const lua = `
    local plugin = Plugin:new("worker")
    plugin:onInit(function() plugin:mqttSubscribe("$share/workers/jobs/#", function() end) end)
  `
  const host = await startHostFor(context, { plugins: [{ id: 'worker', lua }] })
  await command(host, 'install', { fullId: '@fixtures/worker' })
  await command(host, 'worker/toggle', { enabled: true })
  assert.deepEqual(await logMessages(host, 'worker', '?level=warn'), [
    'mqttSubscribe to $share/workers/jobs/# failed: "$share/workers/jobs/#" is a shared subscription, which takes a broker of ' +
      'MQTT 5 (HOST_MQTT_URL): leave $share/ and the name behind it out.',
  ])
})
