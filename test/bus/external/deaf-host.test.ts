import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { echoTime } from '../../../src/bus/external/host-status.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { until } from '../../helpers/until.ts'
import {
  collectFromBus,
  createRecordingLogger,
  lateClock,
  startBus,
  startExternalBus,
  textOf,
} from '../bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../mosquitto.ts'

for (const [rights, isDeaf] of [
  ['write', true],
  ['readwrite', false],
] as const)
  test(
    `A host that may ${rights} at its broker ${isDeaf ? 'is told that nothing comes to it, as the broker says nothing of that' : 'has nothing to be told'}`,
    { skip: mosquittoMissing },
    async (context) => {
      const acl = join(await temporaryDirectory(context), 'acl')
      await writeFile(acl, `user lupine\ntopic ${rights} host/#\n`)
      // Otherwise a mosquitto that root starts becomes a user who cannot read that file.
      const mosquitto = await startMosquitto(context, [
        ...['user root', 'allow_anonymous true', `acl_file ${acl}`],
      ])
      const logger = createRecordingLogger()
      const { clock, late } = lateClock(echoTime)
      const url = mosquitto.url.replace('//', '//lupine:word@')
      const bus = await startExternalBus(context, url, { logger, clock })
      // What the broker answers to this comes after all that it had to hand on before.
      await bus.flush()
      for (const callback of late) callback()
      assert.deepEqual(
        logger.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields),
        isDeaf ? [{ topic: 'host/status', root: 'host', url: mosquitto.url }] : [],
      )
      await bus.close()
      assert.equal(late.size, 0)
    },
  )

for (const [root, isHeard] of [
  ['host', false],
  ['other', true],
] as const)
  test(`A host with the root ${root} at the built-in broker of another host (host) is ${isHeard ? 'heard there, and warned of nothing' : 'told that it is not heard there, and what it needs'}`, async (context) => {
    const broker = await startBus(context)
    const logger = createRecordingLogger()
    const { clock, late } = lateClock(echoTime)
    const bus = await startExternalBus(context, broker.url, { root, logger, clock })
    // What came back ends the wait; where nothing does, the wait is over when the broker has had time for it.
    if (isHeard) await until('what the host says of itself', () => Promise.resolve(late.size === 0))
    else await bus.flush()
    for (const callback of late) callback()
    const warnings = logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
    assert.equal(warnings.length, isHeard ? 0 : 1)
    for (const message of warnings) assert.match(message, /publishes may not.* HOST_MQTT_ROOT of its own/)
  })

test('A host that may not speak for itself says nothing of itself, and waits for nothing to come back', async (context) => {
  const broker = await startBus(context)
  const said = await collectFromBus(broker, 'other/#')
  const { clock, late } = lateClock(echoTime)
  const session = { clientId: () => 'other', permit: (publisher?: string) => () => publisher !== undefined }
  const bus = await startExternalBus(context, broker.url, { root: 'other', clock, session })
  await bus.publish('other/plugin', '1', { publisher: '@x/a' })
  await bus.flush()
  assert.deepEqual((await said.take(1)).map(textOf), ['other/plugin 1'])
  assert.deepEqual([said.all.length, late.size], [1, 0])
})
