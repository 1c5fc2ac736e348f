import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Plugin } from '../../../src/schema/plugin/plugin.ts'
import { connect } from '../../bus/bus-fixture.ts'
import type { TestHost } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'
import { readEvents } from '../../http/clients.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

/** A plugin that shows what it is told, hears others, and answers requests. */
const talker = (id: string) => ({
  id,
  manifest: {
    configSchema: [
      { key: 'word', type: 'string', default: 'none' },
      { key: 'password', type: 'string', secret: true },
    ],
    exports: { controls: [{ id: 'level', type: 'number' }] },
  },
  lua: `
local plugin = Plugin:new("${id}")
local level, heard = 1, 0
plugin:onInit(function(config)
  plugin:log("info", "runs on " .. tostring(plugin.host) .. " under " .. tostring(plugin.epoch))
  plugin:kvSet("loads", (plugin:kvGet("loads") or 0) + 1)
  plugin:upsertObject("state", { word = config.word, loads = plugin:kvGet("loads"), secret = config.password ~= nil })
  plugin:sensor("heard", function() return heard end)
  plugin:control("level", function() return level end, function(value)
    level = value
    plugin:get("level"):_notify()
    plugin:emit("talk:level", { from = "${id}", level = value })
  end)
  plugin:on("talk:*", function(data)
    if data.from ~= "${id}" then heard = data.level; plugin:get("heard"):_notify() end
  end)
  plugin:httpHandler("ask", function(request) return { status = 200, body = "${id} heard " .. request.body } end, { auth = "none" })
end)
return plugin
`,
})

const one = '@fixtures/one'
const two = '@fixtures/two'
const path = (id: string, rest = ''): string => `/api/plugins/${encodeURIComponent(id)}${rest}`

/** Two hosts, each with one of two plugins; answers them by which they have. */
async function startTwo(t: TestContext) {
  const stage = await startFleetStage(t, [talker('one'), talker('two')])
  const [a, b] = [await stage.start('a'), await stage.start('b')]
  const first = await install(a, one)
  const second = await install(a, two)
  assert.deepEqual([first.host, second.host].sort(), ['a', 'b'])
  const byId: Record<string, TestHost> = { a, b }
  const hasOne = byId[first.host ?? ''] as TestHost
  const hasTwo = byId[second.host ?? ''] as TestHost
  return { stage, a, b, hasOne, hasTwo }
}

test('any host answers for the plugins of all, and takes commands for them', async (t) => {
  const { a, b, hasOne, hasTwo } = await startTwo(t)
  for (const host of [a, b]) {
    const { plugins } = (await host.request('GET', '/api/plugins')).body as { plugins: Plugin[] }
    assert.deepEqual(
      plugins.map(({ id, state, resources }) => [id, state, resources.sensors]),
      [
        [one, 'running', 1],
        [two, 'running', 1],
      ],
    )
    const { hosts } = (await host.request('GET', '/api/hosts')).body
    assert.deepEqual(
      hosts.map(({ id, plugins: count, address }: { id: string; plugins: number; address: string }) => [
        id,
        count,
        address,
      ]),
      [
        ['a', 1, a.url],
        ['b', 1, b.url],
      ],
    )
  }
  // Each through the host that does not have it.
  const set = await hasTwo.request('POST', path(one, '/config'), {
    body: { config: { word: 'lamp', password: 'canary' } },
  })
  assert.deepEqual([set.status, set.body.config], [200, { word: 'lamp', password: '********' }])
  const { revision } = set.body
  const old = await hasTwo.request('POST', path(one, '/config'), {
    body: { config: { word: 'late' } },
    headers: { 'if-match': `"${revision - 1}"` },
  })
  assert.deepEqual([old.status, old.body.code], [412, 'revision_conflict'])
  const objects = await hasTwo.request('GET', path(one, '/objects'))
  assert.deepEqual(objects.body, { objects: { state: { word: 'lamp', loads: 2, secret: true } } })
  const level = await hasTwo.request('PUT', path(one, '/controls/level'), { body: { value: 7 } })
  assert.deepEqual([level.status, level.body], [200, { id: 'level', value: 7 }])
  const { logs } = (await hasTwo.request('GET', path(one, '/logs'))).body
  const id = hasOne === a ? 'a' : 'b'
  assert.ok(logs.some(({ message }: { message: string }) => message === `runs on ${id} under 1`))
  const hook = await fetch(`${hasTwo.url}/hooks/fixtures/one/ask`, { method: 'POST', body: 'you' })
  assert.deepEqual([hook.status, await hook.text()], [200, 'one heard you'])
  // What one of them emits is heard by the other, on another host.
  await until('the other plugin to hear of it', async () => {
    await hasTwo.request('PUT', path(one, '/controls/level'), { body: { value: 7 } })
    const { sensors } = (await hasOne.request('GET', path(two, '/sensors'))).body
    return sensors[0].value === 7
  })
  for (const kind of ['object', 'sensor', 'control']) {
    const own = (await hasOne.request('GET', `/api/suggestions?kind=${kind}`)).body.suggestions
    const others = (await hasTwo.request('GET', `/api/suggestions?kind=${kind}`)).body.suggestions
    assert.equal(own.length, 2, kind)
    assert.deepEqual(own, others)
  }
  const { events } = (await hasTwo.request('GET', '/api/history?limit=1000')).body
  const configured = events.find(({ type }: { type: string }) => type === 'PluginConfigured')
  assert.deepEqual([configured.host, configured.epoch], [id, 1])
})

test('the event stream of a host tells what plugins of another host do', async (t) => {
  const { hasOne, hasTwo } = await startTwo(t)
  const reader = await readEvents(`${hasTwo.url}/api/events`)
  t.after(() => reader.close())
  const found = reader.until(
    ({ event, data }) => event === 'control' && data.plugin === one && data.value === 5,
  )
  // It is known a moment later that somebody watches.
  const told = found.then(() => true)
  await until('the stream to tell of it', async () => {
    await hasOne.request('PUT', path(one, '/controls/level'), { body: { value: 4 } })
    await hasOne.request('PUT', path(one, '/controls/level'), { body: { value: 5 } })
    return Promise.race([told, Promise.resolve(false)])
  })
})

test('a request over MQTT is answered once, whichever host has the plugin, and the same transaction acts once', async (t) => {
  const { stage, a } = await startTwo(t)
  const client = await connect(t, stage.broker)
  const answers: { status: string; data: Plugin; transaction: string }[] = []
  const facts: string[] = []
  client.on('message', (topic, payload) => {
    if (topic === 'host/lifecycle') facts.push(JSON.parse(payload.toString()).type)
    else answers.push(JSON.parse(payload.toString()))
  })
  await client.subscribeAsync(['host/response/#', 'host/lifecycle'], { qos: 1 })
  for (const [plugin, transaction] of [
    [one, 'x'],
    [two, 'y'],
    [one, 'x'],
  ] as const) {
    const body = { plugin, config: { word: transaction }, transaction }
    await client.publishAsync('host/request/config', JSON.stringify(body), { qos: 1 })
    await until(`an answer to ${transaction}`, async () => answers.at(-1)?.transaction === transaction)
    answers.push({ status: '', data: {} as Plugin, transaction: '' })
  }
  await client.publishAsync('host/request/list', '{"transaction": "end"}', { qos: 1 })
  await until('the list', async () => answers.at(-1)?.transaction === 'end')
  const given = answers.filter(({ status }) => status !== '')
  assert.deepEqual(
    given.map(({ status, transaction }) => [status, transaction]),
    [
      ['ok', 'x'],
      ['ok', 'y'],
      ['ok', 'x'],
      ['ok', 'end'],
    ],
  )
  const { events } = (await a.request('GET', '/api/history?limit=1000')).body
  const configured = events.filter(({ type }: { type: string }) => type === 'PluginConfigured')
  assert.equal(configured.length, 2)
  // Published by one host, each once.
  await until('both facts', async () => facts.filter((type) => type === 'PluginConfigured').length === 2)
})

test('a command that waits for the installation of its plugin is done by the host that has it then', async (t) => {
  const { stage } = await startTwo(t)
  await stage.publish([{ id: 'three', lua: 'return Plugin:new("three")' }])
  const client = await connect(t, stage.broker)
  const answers = new Map<string, { status: string; error?: { code: string } }>()
  client.on('message', (topic, payload) => void answers.set(topic, JSON.parse(payload.toString())))
  await client.subscribeAsync('host/response/#', { qos: 1 })
  const body = JSON.stringify({ plugin: '@fixtures/three' })
  for (const verb of ['install', 'toggle', 'reload']) client.publish(`host/request/${verb}`, body, { qos: 1 })
  await until('all answers', async () => answers.size === 3)
  assert.deepEqual(
    [...answers].map(([topic, { status, error }]) => [topic, status, error?.code]).sort(),
    ['install', 'reload', 'toggle'].map((verb) => [`host/response/${verb}`, 'ok', undefined]),
  )
})

test('whoever calls a plugin from outside while it moves is told to try again, and never that there is none', async (t) => {
  const { a, b, hasOne, hasTwo } = await startTwo(t)
  const statuses = new Set<number>()
  let isMoving = true
  const calling = [a, b].map(async (host) => {
    while (isMoving) {
      const { status } = await fetch(`${host.url}/hooks/fixtures/one/ask`, { method: 'POST', body: 'you' })
      statuses.add(status)
    }
  })
  const from = hasOne === a ? 'a' : 'b'
  await hasTwo.request('POST', `/api/hosts/${from}/drain`)
  await untilPlugin(hasTwo, one, 'to have moved', ({ host, state }) => host !== from && state === 'running')
  await until('its handler to answer', async () => {
    const { status } = await fetch(`${hasOne.url}/hooks/fixtures/one/ask`, { method: 'POST', body: 'you' })
    statuses.add(status)
    return status === 200
  })
  isMoving = false
  await Promise.all(calling)
  assert.deepEqual([...statuses].sort(), [200, 503])
})

test('the log of a plugin has the lines of all hosts that it was on, in their order', async (t) => {
  const { hasOne, hasTwo, a } = await startTwo(t)
  const [from, to] = hasOne === a ? ['a', 'b'] : ['b', 'a']
  await hasTwo.request('POST', `/api/hosts/${from}/drain`)
  await untilPlugin(hasTwo, one, 'to have moved', ({ host, state }) => host === to && state === 'running')
  const said = [`runs on ${from} under 1`, `runs on ${to} under 2`]
  await until('both lines', async () => {
    const { logs } = (await hasOne.request('GET', path(one, '/logs'))).body
    return logs.some(({ message }: { message: string }) => message === said[1])
  })
  for (const host of [hasOne, hasTwo]) {
    const { logs } = (await host.request('GET', path(one, '/logs'))).body
    const lines = logs.map(({ message }: { message: string }) => message)
    assert.deepEqual(
      lines.filter((line: string) => said.includes(line)),
      said,
    )
    const { logs: last } = (await host.request('GET', path(one, '/logs?limit=1'))).body
    assert.deepEqual(last, logs.slice(-1))
  }
})

test('a plugin that moves keeps what it shows and stores; what the next host does not set goes', async (t) => {
  const stage = await startFleetStage(t, [
    {
      id: 'mover',
      lua: `
local plugin = Plugin:new("mover")
plugin:onInit(function()
  plugin:kvSet("hosts", (plugin:kvGet("hosts") or "") .. plugin.host)
  plugin:upsertObject("always", { hosts = plugin:kvGet("hosts") })
  plugin:upsertObject("on." .. plugin.host, { here = true })
end)
return plugin
`,
    },
  ])
  const a = await stage.start('a')
  const id = '@fixtures/mover'
  await install(a, id)
  const retained = new Map<string, string>()
  const states: string[] = []
  const client = await connect(t, stage.broker)
  client.on('message', (topic, payload) => {
    if (topic.endsWith('/state')) states.push(JSON.parse(payload.toString()).state)
    retained.set(topic, payload.toString())
  })
  await client.subscribeAsync('host/plugins/+/+/#', { qos: 1 })
  const base = `host/plugins/${id}`
  await until('what it shows', async () => retained.has(`${base}/objects/on.a`))
  const b = await stage.start('b')
  states.length = 0
  const drained = await b.request('POST', '/api/hosts/a/drain')
  assert.deepEqual(
    [drained.status, drained.body.id, drained.body.plugins, drained.body.draining],
    [200, 'a', 0, true],
  )
  const moved = await untilPlugin(
    a,
    id,
    'to run on b',
    ({ host, state }) => host === 'b' && state === 'running',
  )
  assert.equal(moved.epoch, 2)
  await until('what is not true any more to go', async () => retained.get(`${base}/objects/on.a`) === '')
  assert.equal(retained.get(`${base}/objects/always`), '{"hosts":"ab"}')
  assert.deepEqual([...new Set(states)], ['running'])
  const { events } = (await b.request('GET', `/api/history?plugin=${encodeURIComponent(id)}&limit=1000`)).body
  const moves = events.filter(({ type }: { type: string }) => type === 'PluginMoved')
  assert.deepEqual(
    moves.map(({ data }: { data: unknown }) => data),
    [
      { from: null, to: 'a', epoch: 1, reason: 'it was installed', keepsRevision: true },
      { from: 'a', to: 'b', epoch: 2, reason: 'a is being drained', keepsRevision: true },
    ],
  )
  assert.ok(!events.some(({ type }: { type: string }) => type === 'PluginUnloaded'))
  const alone = await b.request('POST', '/api/hosts/b/drain')
  assert.deepEqual([alone.status, alone.body.code], [409, 'no_other_host'])
  assert.equal((await a.request('DELETE', '/api/hosts/a/drain')).body.draining, false)
})

test('a plugin runs where its placement says; where no host is like that, it is unloaded and says why', async (t) => {
  const stage = await startFleetStage(t, [talker('one'), talker('two')])
  const a = await stage.start('a')
  const b = await stage.start('b', { labels: ['serial'] })
  await install(a, one)
  const placed = await a.request('PUT', path(one, '/placement'), { body: { labels: ['serial'] } })
  assert.deepEqual([placed.status, placed.body.placement], [200, { labels: ['serial'] }])
  await untilPlugin(a, one, 'to run on b', ({ host, state }) => host === 'b' && state === 'running')
  const states: string[] = []
  const client = await connect(t, stage.broker)
  client.on('message', (_topic, payload) => states.push(payload.toString()))
  await client.subscribeAsync(`host/plugins/${one}/state`, { qos: 1 })
  await b.request('PUT', path(one, '/placement'), { body: { host: 'c' } })
  const nowhere = await untilPlugin(a, one, 'to have no host', ({ error }) => error?.code === 'no_host')
  assert.deepEqual([nowhere.state, nowhere.host, nowhere.enabled], ['unloaded', null, true])
  const refused = await a.request('POST', path(one, '/config'), { body: { config: { word: 'x' } } })
  assert.deepEqual([refused.status, refused.body.code], [409, 'no_other_host'])
  assert.match(
    refused.body.detail,
    /No live host of the fleet is what its placement asks for \(the host c\); start one, or change the placement\.$/,
  )
  const last = (): Plugin => JSON.parse(states.at(-1) ?? '{}')
  await until('it to be told as unloaded', async () => last().error?.code === 'no_host')
  states.length = 0
  await b.request('PUT', path(one, '/placement'), { body: { labels: ['attic'] } })
  // Whoever looks at the error reads what is missing now, and nobody is told that it runs.
  await untilPlugin(a, one, 'to need another host', ({ error }) => error?.message.includes('attic') === true)
  await until('that to be told', async () => last().error?.message.includes('attic') === true)
  assert.deepEqual([...new Set(states.map((text) => JSON.parse(text).state))], ['unloaded'])
  // That it has no host does not keep its owner from giving it one.
  assert.equal((await a.request('PUT', path(one, '/placement'), { body: {} })).status, 200)
  await untilPlugin(a, one, 'to run again', ({ state, host }) => state === 'running' && host !== null)
})

test('a plugin that one host uninstalls is gone from all, and can be installed again through another', async (t) => {
  const stage = await startFleetStage(t, [talker('one')])
  const a = await stage.start('a')
  const b = await stage.start('b')
  await install(a, one)
  const client = await connect(t, stage.broker)
  const retained = new Map<string, string>()
  client.on('message', (topic, payload) => {
    // Lines of the log are told once, and not retained.
    if (!topic.endsWith('/log')) retained.set(topic, payload.toString())
  })
  await client.subscribeAsync('host/plugins/+/+/#', { qos: 1 })
  await until('what it shows', async () => retained.has(`host/plugins/${one}/objects/state`))
  const removed = await b.request('DELETE', path(one))
  assert.deepEqual([removed.status, removed.body], [200, { id: one, state: 'uninstalled' }])
  for (const host of [a, b]) assert.equal((await host.request('GET', path(one))).status, 404)
  await until('what was retained to go', async () => [...retained.values()].every((value) => value === ''))
  const again = await b.request('POST', '/api/plugins/install', { body: { fullId: one } })
  assert.deepEqual([again.status, again.body.enabled], [201, false])
  assert.equal((await a.request('POST', '/api/plugins/install', { body: { fullId: one } })).status, 409)
  const on = await b.request('POST', path(one, '/toggle'), { body: { enabled: true } })
  assert.deepEqual([on.status, on.body.state], [200, 'running'])
})

test('Home Assistant sees one host, and no entity disappears while a plugin moves', async (t) => {
  const stage = await startFleetStage(t, [
    {
      id: 'lamp',
      lua: `
local plugin = Plugin:new("lamp")
local on = false
plugin:onInit(function()
  expose(plugin:control("power", function() return on end, function(value) on = value end), "switch", { name = "Lamp" })
end)
return plugin
`,
    },
  ])
  const settings = { discoveryPrefix: 'homeassistant' }
  const a = await stage.start('a', { settings })
  await install(a, '@fixtures/lamp')
  const client = await connect(t, stage.broker)
  const told: [topic: string, text: string][] = []
  client.on('message', (topic, payload) => told.push([topic, payload.toString()]))
  await client.subscribeAsync('homeassistant/#', { qos: 1 })
  const topic = 'homeassistant/device/test_fixtures_lamp/config'
  await until('the device', async () => told.length > 0)
  const { availability } = JSON.parse(told[0]?.[1] ?? '{}')
  assert.deepEqual(
    availability.map((one: { topic: string }) => one.topic),
    ['host/plugins/@fixtures/lamp/state'],
  )
  const b = await stage.start('b', { settings })
  await a.request('POST', '/api/hosts/a/drain')
  await untilPlugin(
    b,
    '@fixtures/lamp',
    'to run on b',
    ({ host, state }) => host === 'b' && state === 'running',
  )
  await a.host.close()
  await b.request('DELETE', path('@fixtures/lamp'))
  await until('the device to go', async () => told.at(-1)?.[1] === '')
  // Once announced, and once cleared: nothing in between.
  assert.deepEqual(
    told.map(([at, text]) => [at, text === '']),
    [
      [topic, false],
      [topic, true],
    ],
  )
})

test('a version that one host has fetched runs on the next, which can go back to the one before', async (t) => {
  const version = (number: string) => ({
    id: 'versions',
    version: number,
    lua: `
local plugin = Plugin:new("versions")
plugin:onInit(function() plugin:upsertObject("version", { number = "${number}", host = plugin.host }) end)
return plugin
`,
  })
  const id = '@fixtures/versions'
  const stage = await startFleetStage(t, [version('1.0.0')])
  const a = await stage.start('a')
  await install(a, id)
  await stage.publish([version('2.0.0')])
  const b = await stage.start('b')
  const updated = await b.request('POST', path(id, '/update'))
  assert.deepEqual([updated.status, updated.body.version, updated.body.host], [200, '2.0.0', 'a'])
  // From here on nobody can be asked for a version but the fleet itself.
  await stage.publish([])
  await a.host.close()
  await untilPlugin(b, id, 'to run on b', ({ host, state }) => host === 'b' && state === 'running')
  const object = async (): Promise<unknown> =>
    (await b.request('GET', path(id, '/objects'))).body.objects.version
  assert.deepEqual(await until('what it shows', object), { number: '2.0.0', host: 'b' })
  const { versions } = (await b.request('GET', path(id, '/versions'))).body
  assert.deepEqual(
    versions.map(({ version: number, available }: { version: string; available: boolean }) => [
      number,
      available,
    ]),
    [
      ['2.0.0', true],
      ['1.0.0', true],
    ],
  )
  assert.equal((await b.request('POST', path(id, '/rollback'))).status, 200)
  assert.deepEqual(await object(), { number: '1.0.0', host: 'b' })
})

test('a plugin reaches neither the store of its fleet nor the HTTP of another host', async (t) => {
  const stage = await startFleetStage(t, [])
  const a = await stage.start('a')
  const b = await stage.start('b')
  const portOf = (url: string): string => new URL(url).port
  await stage.publish([
    {
      id: 'nosy',
      lua: `
local plugin = Plugin:new("nosy")
plugin:onInit(function()
  for name, port in pairs({ a = ${portOf(a.url)}, b = ${portOf(b.url)}, store = ${portOf(stage.nats.url)} }) do
    local link = plugin:tcpConnect("127.0.0.1", port)
    link:onConnect(function() plugin:upsertObject(name, { said = "open" }) end)
    link:onClose(function(err) plugin:upsertObject(name, { said = tostring(err) }) end)
  end
end)
return plugin
`,
    },
  ])
  await install(a, '@fixtures/nosy')
  const said = await until('all three answers', async () => {
    const { objects } = (await a.request('GET', path('@fixtures/nosy', '/objects'))).body
    return Object.keys(objects).length === 3 ? (objects as Record<string, { said: string }>) : undefined
  })
  for (const [name, answer] of Object.entries(said)) assert.match(answer.said, /is this host itself/, name)
})
