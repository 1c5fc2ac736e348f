import assert from 'node:assert/strict'
import { chmod, cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { collect, connect } from '../bus/bus-fixture.ts'
import { mosquittoMissing, startMosquitto } from '../bus/mosquitto.ts'
import { launchHostProcess } from '../helpers/host-process.ts'
import { createTcpProxy } from '../helpers/tcp-proxy.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import {
  elsewhere,
  first,
  leaveHome,
  leftUnder,
  open,
  rememberedIn,
  second,
  startHome,
  third,
  topicsUnder,
  untilRetained,
} from './former-names-stage.ts'

/** Former names are cleared whatever comes between, and nothing is that may be another host's. */

const options = { skip: mosquittoMissing }
async function publishRetained(context: TestContext, url: string, messages: Record<string, string>) {
  const client = await connect(context, url)
  for (const [topic, text] of Object.entries(messages))
    await client.publishAsync(topic, text, { retain: true, qos: 1 })
}

test(
  'a copy of the directory leaves what the living host has told, and does so when that one is away as well',
  options,
  async (context) => {
    const { url: mqttUrl } = await startMosquitto(context)
    const directory = await leaveHome(context, mqttUrl)
    const copy = join(directory, '..', 'copy')
    await cp(directory, copy, { recursive: true })
    const original = await open(context, directory, { ...first, mqttUrl })
    const all = [...topicsUnder(first), ...topicsUnder(second), elsewhere]

    const beside = await open(context, copy, { ...second, mqttUrl })
    await untilRetained(context, mqttUrl, all)
    assert.equal(beside.warnings().length, 1)
    assert.match(
      beside.warnings()[0] ?? '',
      /^Another host lives under names.+HOST_ID and a HOST_MQTT_ROOT of its own$/,
    )
    assert.deepEqual(original.warnings(), [])
    await beside.host.close()
    await original.host.close()

    // The original may be back at any time.
    const alone = await open(context, copy, { ...second, mqttUrl })
    await untilRetained(context, mqttUrl, [...leftUnder(first), ...topicsUnder(second), elsewhere])
    assert.match(
      alone.warnings().join(),
      /^What stands under former names of this host may be another host's/,
    )
    assert.equal((await rememberedIn(copy))?.former.length, 1)
  },
)

test(
  'after a run that was cut off, an online that stands may be its own: the next start looks again',
  options,
  async (context) => {
    const mosquitto = await startMosquitto(context)
    const { url: mqttUrl } = mosquitto
    const host = await startHome(context, { ...first, mqttUrl })
    const copy = join(host.directory, '..', 'copy')
    await untilRetained(context, mqttUrl, [...topicsUnder(first), elsewhere])
    // As a power cut leaves it.
    await cp(host.directory, copy, { recursive: true })
    const soon = await open(context, copy, { ...second, mqttUrl })
    assert.match(soon.warnings().join(), /start it again when one\/status says offline$/)
    await soon.host.close()
    await host.host.close()
    const later = await open(context, copy, { ...second, mqttUrl })
    await untilRetained(context, mqttUrl, [...topicsUnder(second), elsewhere])
    assert.deepEqual(later.warnings(), [])
  },
)

test('a fleet under the former root keeps its topics', options, async (context) => {
  const { url: mqttUrl } = await startMosquitto(context)
  const directory = await leaveHome(context, mqttUrl)
  const fleet = { 'one/hosts/cellar/status': 'online', 'one/plugins/@a/b/state': '{}' }
  await publishRetained(context, mqttUrl, fleet)
  const { warnings } = await open(context, directory, { ...second, mqttUrl })
  await untilRetained(context, mqttUrl, [
    ...[...leftUnder(first), ...topicsUnder(second)],
    ...[...Object.keys(fleet), elsewhere],
  ])
  assert.equal(warnings().length, 1)
})

test(
  'devices of another host, commands of others and all that no host retains stay',
  options,
  async (context) => {
    const { url: mqttUrl } = await startMosquitto(context)
    const directory = await leaveHome(context, mqttUrl)
    const device = (id: string, root: string) =>
      JSON.stringify({ dev: { ids: [`lupine_${id}_@a/b`] }, availability: [{ topic: `${root}/status` }] })
    const others = {
      'ha/device/first_a_b/config': device('first_a', 'one'),
      'ha/device/first_a_c/config': device('first', 'other'),
      'ha/device/first_a_d/config': 'no JSON',
      'one/plugins/@fixtures/home/controls/level/set': '5',
      'one/plugins/mine': '1',
      'one/mine': '1',
    }
    const ghost = { 'ha/device/first_a_e/config': device('first', 'one'), 'one/safe-mode': '{}' }
    await publishRetained(context, mqttUrl, { ...others, ...ghost })
    await open(context, directory, { ...second, mqttUrl })
    await untilRetained(context, mqttUrl, [...topicsUnder(second), ...Object.keys(others), elsewhere])
  },
)

test('more than fits at once is cleared in portions, the status last', options, async (context) => {
  const { url: mqttUrl } = await startMosquitto(context)
  const directory = await leaveHome(context, mqttUrl)
  const client = await connect(context, mqttUrl)
  const many = Array.from({ length: 1_200 }, (_, index) => `one/plugins/@a/b/sensors/s${index}`)
  for (const topic of many) client.publish(topic, '1', { retain: true, qos: 1 })
  await client.publishAsync('mark', '', { qos: 1 })
  const received = collect(client)
  await client.subscribeAsync('one/#')
  await open(context, directory, { ...second, mqttUrl })
  await untilRetained(context, mqttUrl, [...topicsUnder(second), elsewhere])
  await client.publishAsync('one/mark', '', { qos: 1 })
  while (received.all.at(-1)?.topic !== 'one/mark') await received.take(received.all.length + 1)
  assert.equal(received.all.at(-2)?.topic, 'one/status')
})

test(
  'a start without the broker remembers all former names, and clears them when it is there',
  options,
  async (context) => {
    const mosquitto = await startMosquitto(context)
    const proxy = await createTcpProxy(context, mosquitto.url)
    const mqttUrl = `mqtt://127.0.0.1:${proxy.port}`
    const directory = await leaveHome(context, mqttUrl)
    proxy.refuse()
    const { host } = await open(context, directory, { ...second, mqttUrl })
    await host.host.close()
    const again = await open(context, directory, { ...third, mqttUrl })
    assert.deepEqual(
      (await rememberedIn(directory))?.former.map(({ root }) => root),
      ['one', 'two'],
    )
    proxy.pass()
    await untilRetained(context, mosquitto.url, [...topicsUnder(third), elsewhere])
    await again.host.close()
    const { host: last } = await open(context, directory, { ...third, mqttUrl })
    await last.close()
    assert.deepEqual((await rememberedIn(directory))?.former, [])
  },
)

test(
  'another broker is another place: the names stay remembered until there is one like it again',
  options,
  async (context) => {
    const [here, there] = [await startMosquitto(context), await startMosquitto(context)]
    const directory = await leaveHome(context, here.url)
    const moved = await open(context, directory, { ...second, mqttUrl: there.url })
    await untilRetained(context, there.url, [...topicsUnder(second), elsewhere])
    await untilRetained(context, here.url, [...leftUnder(first), elsewhere])
    await moved.host.close()
    assert.deepEqual(
      (await rememberedIn(directory))?.former.map(({ broker }) => broker),
      [here.url],
    )
    await open(context, directory, {
      ...second,
      mqttUrl: here.url.replace('mqtt://', 'mqtt://someone:else@'),
    })
    await untilRetained(context, here.url, [...topicsUnder(second), elsewhere])
  },
)

test('a host that is killed in the midst of it goes on at the next start', options, async (context) => {
  const { url: mqttUrl } = await startMosquitto(context)
  const directory = await leaveHome(context, mqttUrl)
  const client = await connect(context, mqttUrl)
  await client.subscribeAsync('one/#')
  const cleared = new Promise<void>((resolve) => {
    client.on('message', (_topic, payload) => {
      if (payload.length === 0) resolve()
    })
  })
  const flags = [
    '--mqtt-url',
    mqttUrl,
    '--mqtt-root',
    'two',
    '--id',
    'second',
    '--discovery-prefix',
    'homeassistant',
  ]
  const child = launchHostProcess(directory, { flags })
  context.after(() => child.stop('SIGKILL'))
  child.ready.catch(() => undefined)
  await cleared
  await child.stop('SIGKILL')
  const { host } = await open(context, directory, { ...second, mqttUrl })
  await untilRetained(context, mqttUrl, [...topicsUnder(second), elsewhere])
  await host.close()
  assert.deepEqual((await rememberedIn(directory))?.former, [])
})

test(
  'a broker that does not let the host clear what it told is a warning, and the names stay remembered',
  options,
  async (context) => {
    const folder = await temporaryDirectory(context)
    const acl = join(folder, 'acl')
    // As root it reads with the rights of a user of its own.
    await chmod(folder, 0o755)
    const all = ['two', 'homeassistant', 'elsewhere'].map((name) => `topic readwrite ${name}/#`)
    await writeFile(acl, ['topic readwrite #', 'user narrow', 'topic read #', ...all].join('\n'))
    const { url } = await startMosquitto(context, ['allow_anonymous true', `acl_file ${acl}`])
    const directory = await leaveHome(context, url)
    const mqttUrl = url.replace('mqtt://', 'mqtt://narrow:x@')
    const { warnings } = await open(context, directory, { ...second, mqttUrl })
    assert.match(warnings().join(), /What this host told under former names cannot be cleared.+write there/)
    await untilRetained(context, url, [...leftUnder(first), ...topicsUnder(second), elsewhere])
    assert.equal((await rememberedIn(directory))?.former.length, 1)
  },
)
