import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { collect, connect } from '../bus/bus-fixture.ts'
import { type Mosquitto, mosquittoMissing, startMosquitto } from '../bus/mosquitto.ts'
import { startHostFor, type TestHost } from '../helpers/test-host.ts'

/** The same tests of a whole host, with the broker inside it and with Mosquitto beside it. */

interface Stage {
  host: TestHost
  /** Only beside the host. */
  mosquitto: Mosquitto | undefined
}

const stages: [title: string, skip: string | false, start: (context: TestContext) => Promise<Stage>][] = [
  [
    'embedded',
    false,
    async (context) => {
      const host = await startHostFor(context)
      return { host, mosquitto: undefined }
    },
  ],
  [
    'Mosquitto',
    mosquittoMissing,
    async (context) => {
      // Without persistence: what is retained there is gone after a kill, and the host has to bring it back.
      const mosquitto = await startMosquitto(context)
      const host = await startHostFor(context, { settings: { mqttUrl: mosquitto.url } })
      return { host, mosquitto }
    },
  ],
]

async function enableDemo({ host }: Stage): Promise<void> {
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/demo' } })
  const answer = await host.request('POST', '/api/plugins/demo/toggle')
  assert.equal(answer.body.state, 'running', JSON.stringify(answer.body.error))
}

/** Resolves with the first payload on a topic that `matches`. */
function next(
  client: MqttClient,
  topic: string,
  matches = (_text: string): boolean => true,
): Promise<string> {
  return new Promise((resolve) => {
    const listen = (found: string, payload: Buffer): void => {
      if (found !== topic || !matches(payload.toString())) return
      client.off('message', listen)
      resolve(payload.toString())
    }
    client.on('message', listen)
  })
}

const plugin = 'host/plugins/@fixtures/demo'

for (const [title, skip, start] of stages) {
  test(
    `what a plugin has is retained for whoever comes later, and goes with it (${title})`,
    { skip },
    async (context) => {
      const stage = await start(context)
      await enableDemo(stage)
      const topics = ['host/status', `${plugin}/#`]
      // Whoever hears of it before has heard all of it: the first values come right after the plugin runs.
      const witness = await connect(context, stage.host.mqttUrl)
      const heard = collect(witness)
      await witness.subscribeAsync(topics)
      await heard.take(5)
      const client = await connect(context, stage.host.mqttUrl)
      const received = collect(client)
      await client.subscribeAsync(topics)
      const first = await received.take(5)
      assert.deepEqual(
        first
          .map(({ topic, text, retain }) => [
            topic.replace(plugin, 'P'),
            topic.endsWith('state') ? '' : text,
            retain,
          ])
          .sort(),
        [
          ['P/controls/level', '5', true],
          ['P/objects/room.lamp', '{"on":false,"level":5}', true],
          ['P/sensors/double', '10', true],
          ['P/state', '', true],
          ['host/status', 'online', true],
        ],
      )
      const gone = next(client, `${plugin}/state`, (text) => text.includes('"unloaded"'))
      await stage.host.request('POST', '/api/plugins/demo/toggle')
      await gone
      const cleared = received.all
        .filter(({ text }) => text === '')
        .map(({ topic }) => topic.replace(plugin, 'P'))
      assert.deepEqual(cleared.sort(), ['P/controls/level', 'P/objects/room.lamp', 'P/sensors/double'])
    },
  )

  test(
    `a control is set, an event comes out, a message goes through the plugin (${title})`,
    { skip },
    async (context) => {
      const stage = await start(context)
      await enableDemo(stage)
      const client = await connect(context, stage.host.mqttUrl)
      await client.subscribeAsync([`${plugin}/#`, 'demo/out'])
      const event = next(client, `${plugin}/events/demo:level`)
      const sensor = next(client, `${plugin}/sensors/double`, (text) => text === '14')
      await client.publishAsync(`${plugin}/controls/level/set`, '7', { qos: 1 })
      assert.deepEqual([JSON.parse(await event), await sensor], [{ level: 7 }, '14'])
      const out = next(client, 'demo/out')
      await client.publishAsync('demo/in', Buffer.from('through'), { qos: 1 })
      assert.equal(await out, 'through')
    },
  )

  test(`lifecycle events come in order with QoS 1, without a gap (${title})`, { skip }, async (context) => {
    const stage = await start(context)
    const client = await connect(context, stage.host.mqttUrl)
    const received = collect(client)
    await client.subscribeAsync('host/lifecycle', { qos: 1 })
    const from = stage.host.host.lifecycle.lastSeq
    await enableDemo(stage)
    for (let count = 0; count < 5; count += 1) {
      await stage.host.request('POST', '/api/plugins/demo/config', { body: { config: { count } } })
    }
    const expected = stage.host.host.lifecycle.lastSeq - from
    // What happened before may still be on its way to the broker.
    let count = expected
    const seen = async () => (await received.take(count)).map(({ text, qos }) => [JSON.parse(text).seq, qos])
    while ((await seen()).at(-1)?.[0] !== from + expected) count += 1
    assert.deepEqual(
      (await seen()).filter(([seq]) => seq > from),
      Array.from({ length: expected }, (_, index) => [from + index + 1, 1]),
    )
  })

  test(`that the host has stopped is the last lifecycle event (${title})`, { skip }, async (context) => {
    const stage = await start(context)
    const client = await connect(context, stage.host.mqttUrl)
    const stopped = next(client, 'host/lifecycle', (text) => JSON.parse(text).type === 'HostStopped')
    await client.subscribeAsync('host/lifecycle', { qos: 1 })
    await stage.host.host.close()
    const { lastSeq } = stage.host.host.lifecycle
    assert.equal(JSON.parse(await stopped).seq, lastSeq)
  })

  test(`at the end the status is offline (${title})`, { skip }, async (context) => {
    const stage = await start(context)
    const client = await connect(context, stage.host.mqttUrl)
    const offline = next(client, 'host/status', (text) => text === 'offline')
    await client.subscribeAsync('host/status')
    await stage.host.host.close()
    assert.equal(await offline, 'offline')
  })
}

test(
  'a broker that is killed and comes back in mid-traffic has everything again, and the plugin its subscription',
  { skip: mosquittoMissing },
  async (context) => {
    const mosquitto = await startMosquitto(context)
    const host = await startHostFor(context, { settings: { mqttUrl: mosquitto.url } })
    await enableDemo({ host, mosquitto })
    await mosquitto.kill()
    // While it is away the host goes on, and things change.
    const set = await host.request('PUT', '/api/plugins/demo/controls/level', { body: { value: 9 } })
    assert.equal(set.status, 200)
    await mosquitto.start()
    const client = await connect(context, mosquitto.url)
    const level = next(client, `${plugin}/controls/level`, (text) => text === '9')
    const lamp = next(client, `${plugin}/objects/room.lamp`, (text) => JSON.parse(text).level === 9)
    const online = next(client, 'host/status', (text) => text === 'online')
    const state = next(client, `${plugin}/state`, (text) => JSON.parse(text).state === 'running')
    await client.subscribeAsync(['host/status', `${plugin}/#`, 'demo/out'])
    await Promise.all([level, lamp, online, state])
    const out = next(client, 'demo/out')
    await client.publishAsync('demo/in', 'again', { qos: 1 })
    assert.equal(await out, 'again')
  },
)

test(
  'a broker beside the host is told of every event, from the first of a start to the last of its end',
  { skip: mosquittoMissing },
  async (context) => {
    const mosquitto = await startMosquitto(context)
    const client = await connect(context, mosquitto.url)
    const received = collect(client)
    await client.subscribeAsync('host/lifecycle', { qos: 1 })
    const host = await startHostFor(context, {
      settings: { mqttUrl: mosquitto.url, safeMode: true },
      hostFile: { plugins: { installed: [{ id: '@fixtures/demo', enabled: true, config: { level: 3 } }] } },
    })
    const again = await host.restart()
    await again.host.close()
    const expected = again.host.lifecycle.lastSeq
    const events = (await received.take(expected)).map(({ text }) => JSON.parse(text))
    assert.deepEqual(
      events.map(({ seq }) => seq),
      Array.from({ length: expected }, (_, index) => index + 1),
    )
    assert.deepEqual(
      events.map(({ type, by }) => `${type} ${by}`).filter((text) => /^Host|file$/.test(text)),
      [
        'HostStarted startup',
        'HostSafeModeEntered startup',
        'PluginInstallRequested file',
        'PluginInstalled file',
        'PluginConfigured file',
        'PluginEnabled file',
        'HostReady startup',
        'HostStopping shutdown',
        'HostStopped shutdown',
        'HostStarted startup',
        'HostSafeModeEntered startup',
        'HostReady startup',
        'HostStopping shutdown',
        'HostStopped shutdown',
      ],
    )
  },
)
