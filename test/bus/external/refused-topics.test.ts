import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import { createRecordingLogger, startBus, startExternalBus } from '../bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../mosquitto.ts'

test(
  'Each topic that the broker forbids is in the log, not only the first one of them',
  { skip: mosquittoMissing },
  async (context) => {
    const acl = join(await temporaryDirectory(context), 'acl')
    await writeFile(acl, 'user lupine\ntopic readwrite host/#\n')
    // Otherwise a mosquitto that root starts becomes a user who cannot read that file.
    const mosquitto = await startMosquitto(context, [
      ...['user root', 'allow_anonymous true', `acl_file ${acl}`],
    ])
    const logger = createRecordingLogger()
    const url = mosquitto.url.replace('//', '//lupine:word@')
    const bus = await startExternalBus(context, url, { logger })
    const forbidden = ['own/value', 'homeassistant/device/id_own_lamp/config']
    for (const topic of [...forbidden, 'own/value']) await bus.publish(topic, '1', { qos: 1 })
    await bus.flush()
    const refusals = logger.lines.filter(({ message }) => message === 'The MQTT broker refused a message')
    assert.deepEqual(
      refusals.map(({ fields }) => fields?.topic),
      forbidden,
    )
  },
)

test('Each filter that the broker forbids is in the log, with what it says', async (context) => {
  // Nobody gets what is below `$SYS` from a built-in broker.
  const broker = await startBus(context, { root: 'elsewhere' })
  const logger = createRecordingLogger()
  const bus = await startExternalBus(context, broker.url, { logger })
  const forbidden = ['$SYS/#', '$SYS/broker/uptime']
  for (const filter of [...forbidden, 'own/#', '$SYS/#']) await bus.subscribe(filter, () => undefined)
  const refusals = () =>
    logger.lines.filter(({ message }) => message === 'The MQTT broker refused a subscription')
  await until('the refusals', async () => refusals().length >= forbidden.length)
  assert.deepEqual(
    refusals().map(({ fields }) => fields),
    forbidden.map((filter) => ({ filter, reason: 'Subscribe error: Unspecified error' })),
  )
})
