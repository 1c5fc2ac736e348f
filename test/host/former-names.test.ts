import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { collect, connect, lines } from '../bus/bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../bus/mosquitto.ts'
import { until } from '../helpers/until.ts'
import {
  elsewhere,
  first,
  leaveHome,
  type Names,
  open,
  rememberedIn,
  second,
  startHome,
  topicsUnder,
  untilRetained,
} from './former-names-stage.ts'

/** What a host has told under names that it has no more goes from the broker. */

const options = { skip: mosquittoMissing }

const changes: [setting: string, change: Partial<Names>][] = [
  ['HOST_ID', { hostId: 'second' }],
  ['HOST_MQTT_ROOT', { mqttRoot: 'two/levels' }],
  ['HOST_MQTT_ROOT to one below the former', { mqttRoot: 'one/below' }],
  ['HOST_DISCOVERY_PREFIX', { discoveryPrefix: 'homeassistant' }],
  ['HOST_DISCOVERY_PREFIX to none', { discoveryPrefix: '' }],
  ['all of them', { hostId: 'second', mqttRoot: 'two', discoveryPrefix: 'homeassistant' }],
]

for (const [setting, change] of changes)
  test(
    `with another ${setting} nothing is left of what was told before, and every device is there once`,
    options,
    async (context) => {
      const mosquitto = await startMosquitto(context)
      const host = await startHome(context, { ...first, mqttUrl: mosquitto.url })
      await untilRetained(context, mosquitto.url, [...topicsUnder(first), elsewhere])
      await host.host.close()

      const names = { ...first, ...change }
      const again = await open(context, host.directory, { ...names, mqttUrl: mosquitto.url })
      await untilRetained(context, mosquitto.url, [...topicsUnder(names), elsewhere])
      assert.deepEqual(again.warnings(), [])
      const { present, former } = (await rememberedIn(host.directory)) ?? {}
      assert.deepEqual(
        [present, former],
        [
          {
            hostId: names.hostId,
            root: names.mqttRoot,
            prefix: names.discoveryPrefix,
            broker: mosquitto.url,
          },
          [],
        ],
      )
      assert.equal((await stat(join(host.directory, '.host.names'))).mode & 0o777, 0o600)
    },
  )

test(
  'an event that a plugin had retained under a former root takes no room of the plugin any more',
  options,
  async (context) => {
    const { url: mqttUrl } = await startMosquitto(context)
    const directory = await leaveHome(context, mqttUrl)
    const { host } = await open(context, directory, { ...second, mqttUrl })
    await untilRetained(context, mqttUrl, [...topicsUnder(second), elsewhere])
    await host.host.close()
    const text = await readFile(join(directory, '.retained', 'fixtures--home.json'), 'utf8')
    const { topics } = JSON.parse(text) as { topics: [topic: string, payload: number][] }
    assert.deepEqual(topics.map(([topic]) => topic).sort(), [
      elsewhere,
      'two/plugins/@fixtures/home/events/home:seen',
    ])
  },
)

test('the built-in broker keeps nothing of former names either, and Home Assistant lets go of the devices that it knew', async (context) => {
  const host = await startHome(context, first)
  await untilRetained(context, host.mqttUrl, [...topicsUnder(first), elsewhere])
  await host.host.close()

  const names = { ...first, hostId: 'second', mqttRoot: 'two' }
  const { host: again } = await open(context, host.directory, names)
  await untilRetained(context, again.mqttUrl, [...topicsUnder(names), elsewhere])
  // Nobody has said yet that Home Assistant has heard it.
  assert.equal((await rememberedIn(host.directory))?.former.length, 1)
  const client = await connect(context, again.mqttUrl)
  const received = collect(client)
  await client.subscribeAsync('ha/device/#', { qos: 1 })
  await received.take(2)
  await client.publishAsync('ha/status', 'online', { qos: 1 })
  const devices = ['', '_stove'].map((device) => `ha/device/first_fixtures_home${device}/config`)
  assert.deepEqual(
    lines((await received.take(4)).slice(2)).sort(),
    devices.map((topic) => `${topic} `),
  )
  // Then the devices that are there are announced again, in their places.
  assert.ok((await received.take(6)).slice(4).every(({ topic, text }) => /second/.test(topic) && text !== ''))
  await until('nothing to be remembered', async () => {
    return (await rememberedIn(host.directory))?.former.length === 0
  })
})

test('a device of a former name on which somebody else has retained something is not taken from him', async (context) => {
  const host = await startHome(context, first)
  await host.host.close()
  const { host: again } = await open(context, host.directory, { ...first, discoveryPrefix: '' })
  const other = await connect(context, again.mqttUrl)
  const topic = 'ha/device/first_fixtures_home/config'
  await other.publishAsync(topic, 'of a copy', { retain: true, qos: 1 })
  const received = collect(other)
  await other.subscribeAsync('ha/device/#', { qos: 1 })
  await received.take(1)
  await other.publishAsync('ha/status', 'online', { qos: 1 })
  assert.deepEqual(lines((await received.take(2)).slice(1)), ['ha/device/first_fixtures_home_stove/config '])
})
