import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectFromBus, connect, createRecordingLogger, startBus, textOf } from './bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from './mosquitto.ts'

test(
  'A command that a bridged Mosquitto has retained is not carried out, for it comes again with each connection',
  { skip: mosquittoMissing },
  async (t) => {
    const logger = createRecordingLogger()
    const bus = await startBus(t, { logger })
    const atHost = await collectFromBus(bus, 'host/request/+')
    const atDoor = await collectFromBus(bus, 'door/+')
    const mosquitto = await startMosquitto(t, [
      'allow_anonymous true',
      'connection lupine',
      `address ${new URL(bus.url).host}`,
      'topic host/request/+ out 1',
      'topic door/+ out 1',
    ])
    const client = await connect(t, mosquitto.url)
    await client.publishAsync('host/request/toggle', 'retained', { qos: 1, retain: true })
    await client.publishAsync('host/request/reload', 'retained', { qos: 1, retain: true })
    await client.publishAsync('host/request/toggle', 'now', { qos: 1 })
    await client.publishAsync('door/front', 'open', { qos: 1, retain: true })

    assert.deepEqual((await atDoor.take(1)).map(textOf), ['door/front open'])
    assert.deepEqual(atHost.all.map(textOf), ['host/request/toggle now'])
    const told = logger.lines.filter(({ message }) => message.includes('its bridge would repeat it'))
    assert.deepEqual(
      told.map(({ fields }) => fields?.topic),
      ['host/request/toggle', 'host/request/reload'],
    )
  },
)

test('Each client that publishes what only the host may is in the log, also beside one that never stops', async (t) => {
  const logger = createRecordingLogger()
  const bus = await startBus(t, { logger })
  for (const clientId of ['loud', 'quiet']) {
    const client = await connect(t, bus.url, { clientId })
    for (const text of ['1', '2']) await client.publishAsync('host/status', text, { qos: 1 })
  }
  const told = logger.lines.filter(({ message }) => message.includes('only the host publishes there'))
  assert.deepEqual(
    told.map(({ fields }) => fields?.client),
    ['loud', 'quiet'],
  )
})
