import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Collector, collect, connect, type Received } from '../bus/bus-fixture.ts'
import { command, installAndStart, logMessages, startHostFor } from '../helpers/test-host.ts'

/** The MQTT face of a whole host: a real plugin, seen and driven by a client of the broker. */

const demo = '@fixtures/demo'
const base = `host/plugins/${demo}`

async function start(t: TestContext, transport: 'tcp' | 'websocket' = 'tcp') {
  const host = await startHostFor(t)
  const address =
    transport === 'tcp' ? host.mqttUrl : `${host.url.replace('http', 'ws').replace(/\/$/, '')}/mqtt`
  const client = await connect(t, address)
  const received = collect(client)
  await client.subscribeAsync(['host/#', 'demo/out'], { qos: 1 })
  let transaction = 0

  async function request(verb: string, body: object) {
    transaction += 1
    await client.publishAsync(`host/request/${verb}`, JSON.stringify({ ...body, transaction }), { qos: 1 })
    const answer = await until(received, ({ topic, text }) => {
      return topic === `host/response/${verb}` && JSON.parse(text).transaction === transaction
    })
    return JSON.parse(answer.text)
  }

  /** What a client that comes now gets at once. */
  async function retained(): Promise<Record<string, unknown>> {
    const newcomer = await connect(t, host.mqttUrl)
    const all = collect(newcomer)
    // The youngest of what is retained comes last.
    await newcomer.publishAsync('end/mark', '', { retain: true, qos: 1 })
    await newcomer.publishAsync('end/mark', 'now', { retain: true, qos: 1 })
    await newcomer.subscribeAsync(['host/#', 'end/+'])
    await until(all, ({ topic, retain }) => topic === 'end/mark' && retain)
    const values = all.all
      .filter(({ topic, retain }) => retain && topic !== 'end/mark')
      .map(({ topic, text }) => [topic, text])
    return Object.fromEntries(values)
  }

  return { host, client, received, request, retained }
}

async function until(
  received: Collector<Received>,
  wanted: (message: Received) => boolean,
): Promise<Received> {
  for (let count = 1; ; count += 1) {
    const found = (await received.take(count)).find(wanted)
    if (found !== undefined) return found
  }
}

const shown = (text: unknown): unknown => JSON.parse(String(text))

for (const transport of ['tcp', 'websocket'] as const) {
  test(`A plugin is installed, driven and removed over MQTT alone (${transport})`, async (t) => {
    const { client, received, request, retained } = await start(t, transport)

    const installed = await request('install', { plugin: demo })
    assert.deepEqual([installed.status, installed.data?.state], ['ok', 'installed'])
    const enabled = await request('toggle', { plugin: 'demo', enabled: true })
    assert.deepEqual([enabled.status, enabled.data?.state], ['ok', 'running'])

    await until(received, ({ topic, text }) => topic === `${base}/sensors/double` && text === '10')
    await until(received, ({ topic, text }) => topic === `${base}/controls/level` && text === '5')
    const before = await retained()
    assert.deepEqual(Object.keys(before).sort(), [
      `${base}/controls/level`,
      `${base}/objects/room.lamp`,
      `${base}/sensors/double`,
      `${base}/state`,
      'host/status',
    ])
    assert.deepEqual(shown(before[`${base}/objects/room.lamp`]), { on: false, level: 5 })
    const state = shown(before[`${base}/state`]) as { seq: number }
    assert.deepEqual(state, {
      state: 'running',
      enabled: true,
      version: '1.0.0',
      error: null,
      host: null,
      epoch: null,
      seq: state.seq,
    })

    client.publish(`${base}/controls/level/set`, '7')
    client.publish(`${base}/controls/level/set`, '99')
    const event = await until(received, ({ topic }) => topic === `${base}/events/demo:level`)
    assert.deepEqual([shown(event.text), event.retain], [{ level: 7 }, false])
    await until(received, ({ topic, text }) => topic === `${base}/sensors/double` && text === '14')

    client.publish('demo/in', Buffer.from('ping'))
    assert.equal((await until(received, ({ topic }) => topic === 'demo/out')).text, 'ping')

    const disabled = await request('toggle', { plugin: demo, enabled: false })
    assert.equal(disabled.data?.state, 'unloaded')
    const log = await until(
      received,
      ({ topic, text }) => topic === `${base}/log` && text.includes('cleaned up'),
    )
    assert.deepEqual(Object.keys(shown(log.text) as object).sort(), ['at', 'level', 'message'])
    assert.deepEqual(Object.keys(await retained()).sort(), [`${base}/state`, 'host/status'])

    const removed = await request('uninstall', { plugin: demo })
    assert.deepEqual(removed.data, { id: demo, state: 'uninstalled' })
    assert.deepEqual(Object.keys(await retained()), ['host/status'])

    const facts = received.all
      .filter(({ topic }) => topic === 'host/lifecycle')
      .map(({ text }) => JSON.parse(text))
    assert.deepEqual(
      facts.map(({ seq }) => seq),
      facts.map((_, index) => facts[0].seq + index),
    )
    // That a namespace is the repository's now is nobody's own.
    const own = facts.filter(({ type }) => type !== 'NamespaceClaimed')
    const types = own.map(({ type }) => type).filter((type) => !String(type).endsWith('Requested'))
    assert.deepEqual(types, [
      'PluginInstalled',
      'PluginEnabled',
      'PluginLoaded',
      'PluginDisabled',
      'PluginUnloaded',
      'PluginUninstalled',
    ])
    assert.equal(
      own.every(({ by }) => by === 'mqtt'),
      true,
    )
  })
}

test('A value outside the range is refused over MQTT, and Lua is not asked', async (t) => {
  const { client, received, request } = await start(t)
  await request('install', { plugin: demo })
  await request('toggle', { plugin: demo })
  for (const value of ['11', 'loud', '3']) {
    await client.publishAsync(`${base}/controls/level/set`, value, { qos: 1 })
  }
  await until(received, ({ topic }) => topic === `${base}/events/demo:level`)
  const objects = received.all.filter(({ topic }) => topic === `${base}/objects/room.lamp`)
  assert.deepEqual(
    objects.map(({ text }) => shown(text)),
    [
      { on: false, level: 5 },
      { on: false, level: 3 },
    ],
  )
})

test('Why a value was refused is in the log of the plugin, once until one is taken', async (t) => {
  const { host, client, received, request } = await start(t)
  await request('install', { plugin: demo })
  await request('toggle', { plugin: demo })
  for (const value of ['11', '12', '3', '-1', '4'])
    await client.publishAsync(`${base}/controls/level/set`, value, { qos: 1 })
  await until(received, ({ topic, text }) => topic === `${base}/controls/level` && text === '4')
  assert.deepEqual(await logMessages(host, demo, '?level=warn'), [
    "The control 'level' was not set: The value must be a number from 0 to 10, not 11.",
    "The control 'level' was not set: The value must be a number from 0 to 10, not -1.",
  ])
})

test('Who has set a value is in the log of the plugin, before what it does about it', async (t) => {
  const lua = `local plugin = Plugin:new("door")
local state = "locked"
plugin:control("lit", function() return false end, function(value) plugin:log("info", "lit " .. tostring(value)) end)
plugin:control("code", function() return "" end, function() end)
expose({ get = function() return state end, set = function(_, _, value) state = value end }, "select",
  { id = "mode", options = { "locked", "open" } })
plugin:mqttSubscribe("evening", function() plugin:mqttPublish("host/plugins/@fixtures/door/controls/lit/set", "false") end)
return plugin`
  const controls = [{ id: 'lit', type: 'boolean' }, { id: 'code' }]
  const host = await startHostFor(t, { plugins: [{ id: 'door', lua, manifest: { exports: { controls } } }] })
  const door = '@fixtures/door'
  await command(host, 'install', { fullId: door })
  await command(host, 'door/toggle')
  const phone = await connect(t, host.mqttUrl, { clientId: 'phone' })
  const received = collect(phone)
  await phone.subscribeAsync(`host/plugins/${door}/log`)
  await phone.publishAsync(`host/plugins/${door}/controls/lit/set`, 'ON', { qos: 1 })
  await until(received, ({ text }) => text.includes('lit true'))
  await phone.publishAsync('evening', '', { qos: 1 })
  await until(received, ({ text }) => text.includes('lit false'))
  await host.request('PUT', `/api/plugins/${door}/controls/code`, { body: { value: '4711' } })
  await host.request('PUT', `/api/plugins/${door}/exposures/mode/value`, { body: { value: 'open' } })
  // As a script connects that sends one message: the broker makes up another id each time.
  const script = await connect(t, host.mqttUrl, { clientId: '' })
  await script.publishAsync(`host/plugins/${door}/controls/code/set`, 'open', { qos: 1 })
  await until(received, ({ text }) => text.includes(`'code' is set over MQTT`))
  assert.deepEqual(await logMessages(host, door), [
    `The control 'lit' is set to true over MQTT by client "phone"`,
    'lit true',
    `The control 'lit' is set to false over MQTT by ${door}`,
    'lit false',
    `The control 'code' is set over HTTP or a page`,
    `The value of 'mode' is set over HTTP or a page`,
    `The control 'code' is set over MQTT`,
  ])
})

test('Of refusals without end the oldest is forgotten, and told once more', async (t) => {
  const lua = `local plugin = Plugin:new("many")
for count = 0, 1000 do plugin:control("c" .. count, function() return 0 end, function() end) end
return plugin`
  const controls = Array.from({ length: 1001 }, (_, count) => ({ id: `c${count}`, range: '0-10' }))
  const host = await startHostFor(t, { plugins: [{ id: 'many', lua, manifest: { exports: { controls } } }] })
  const many = '@fixtures/many'
  await command(host, 'install', { fullId: many })
  await command(host, 'many/toggle')
  for (const { id } of [...controls, ...controls.slice(0, 1), ...controls.slice(-1)])
    await assert.rejects(host.host.lifecycle.setControl(many, id, 11), { code: 'control_value_invalid' })
  const told = await logMessages(host, many, '?level=warn&limit=2')
  assert.deepEqual(
    told.map((line) => line.replace(/ was not set.*/, '')),
    ["The control 'c1000'", "The control 'c0'"],
  )
})

test('A load that fails shows its reason in the retained state', async (t) => {
  const { request, retained } = await start(t)
  await request('install', { plugin: '@fixtures/faulty' })
  const answer = await request('toggle', { plugin: 'faulty', enabled: true })
  assert.deepEqual([answer.status, answer.data?.enabled, answer.data?.state], ['ok', true, 'failed'])
  const state = shown((await retained())['host/plugins/@fixtures/faulty/state']) as {
    error: { message: string }
  }
  assert.match(state.error.message, /broken on purpose/)
})

test('A client that forges the host’s own topics stays connected and changes nothing', async (t) => {
  const { client, request, retained } = await start(t)
  for (const topic of ['host/status', 'host/lifecycle', 'host/plugins/@x/y/state', '$SYS/x']) {
    await client.publishAsync(topic, 'forged', { qos: 1, retain: true })
  }
  assert.equal((await request('list', {})).status, 'ok')
  assert.deepEqual(await retained(), { 'host/status': 'online' })
})

test('What is said of safe mode is told when it changes, and not with each event of the host', async (t) => {
  const host = await startHostFor(t, { settings: { safeMode: true } })
  const client = await connect(t, host.mqttUrl)
  const received = collect(client)
  await client.subscribeAsync(['host/safe-mode', 'host/lifecycle'], { qos: 1 })
  await host.request('DELETE', '/api/repositories/fixtures')
  await host.request('POST', '/api/system/safe-mode', { body: { enabled: false } })
  await until(received, ({ text }) => text.includes('HostSafeModeLeft'))
  await host.close()
  const told = received.all.filter(({ topic }) => topic === 'host/safe-mode').map(({ text }) => text)
  assert.equal(told.length, 2, told.join())
  assert.match(told[0] ?? '', /"cause":"asked"/)
  assert.equal(told[1], '')
})

test('At the end of the host its clients are told, and its plugins were unloaded before', async (t) => {
  const { host, received, request } = await start(t)
  await request('install', { plugin: demo })
  await request('toggle', { plugin: demo })
  await host.close()
  const last = received.all.slice(-1).map(({ topic, text }) => `${topic} ${text}`)
  assert.deepEqual(last, ['host/status offline'])
  const states = received.all
    .filter(({ topic }) => topic === `${base}/state`)
    .map(({ text }) => JSON.parse(text).state)
  assert.deepEqual(states.at(-1), 'unloaded')
})

test('an integer beyond 2^53 has all its digits on MQTT and over HTTP', async (t) => {
  const lua = `
    local plugin = Plugin:new("clock")
    plugin:onInit(function()
      plugin:upsertObject("now", { at = 2^60 })
      plugin:sensor("at", function() return 2^60 end)
      plugin:setTimeout(0, function() plugin:emit("clock:tick", { at = 2^60 }) end)
    end)
  `
  const host = await startHostFor(t, { plugins: [{ id: 'clock', lua }] })
  const client = await connect(t, host.mqttUrl)
  const received = collect(client)
  await client.subscribeAsync(['host/plugins/@fixtures/clock/#'], { qos: 1 })
  await installAndStart(host, 'clock')
  const digits = '1152921504606846976'
  for (const [topic, text] of [
    ['objects/now', `{"at":${digits}}`],
    ['sensors/at', digits],
    ['events/clock:tick', `{"at":${digits}}`],
  ] as const)
    await until(received, (message) => message.topic.endsWith(topic) && message.text === text)
  for (const [path, part] of [
    ['objects', `{"at":${digits}}`],
    ['sensors', `"value":${digits}`],
  ] as const) {
    const answer = await fetch(new URL(`/api/plugins/clock/${path}`, host.url))
    const text = await answer.text()
    assert.ok(text.includes(part), text)
  }
})
