import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../src/base/text/json.ts'
import { type Collector, collect, connect, type Received, startBus } from '../bus/bus-fixture.ts'
import { defaultRestartPolicy } from '../../src/lifecycle/loading/restart-policy.ts'
import { generousTime } from '../helpers/generous-time.ts'
import { installAndStart, startHostFor, type TestHostOptions } from '../helpers/test-host.ts'
import { unstoppable } from '../helpers/unstoppable.ts'
import { mistakesIn } from './documented-fields.ts'

const home = {
  id: 'home',
  lua: `
local plugin = Plugin:new("home")
local lamp = { state = false, brightness = 0, get = function(self, feature) return self[feature] end }
function lamp:set(feature, value) self[feature] = value end
local level = 3
plugin:onInit(function(config)
  expose(lamp, "light", { id = "lamp", name = "Lamp", area = "Hall" })
  local control = plugin:control("level", function() return level end, function(value) level = value end)
  expose(control, "number", { min = 0, max = 10, unit = "%" })
  expose(plugin:sensor("warm", function() return 20.5 end), "temperature")
  if config.bell then
    local bell = plugin:sensor("bell", function() return nil end)
    expose(bell, "event", { options = { "ring" } })
  end
  plugin:mqttSubscribe("test/crash", function()
    local hoard = {}
    while true do hoard[#hoard + 1] = { #hoard, {} } end
  end)
  plugin:mqttSubscribe("test/ring", function() plugin:get("bell"):emit("OnChange", "ring") end)
end)
`,
  manifest: { configSchema: [{ key: 'bell', type: 'boolean' }] },
}

const id = '%40fixtures%2Fhome'
const topic = 'homeassistant/device/house_fixtures_home/config'
const exposed = 'host/plugins/@fixtures/home/exposed'

async function start(t: TestContext, options: TestHostOptions = {}) {
  const host = await startHostFor(t, {
    plugins: [home],
    ...options,
    settings: { discoveryPrefix: 'homeassistant', hostId: 'house', ...options.settings },
  })
  return host
}

/** Resolves with the text of the first message that fits. */
async function next(
  received: Collector<Received>,
  from: number,
  fits: (message: Received) => boolean,
): Promise<{ text: string; index: number }> {
  for (let count = from + 1; ; count += 1) {
    const index = count - 1
    const message = (await received.take(count))[index]
    if (message !== undefined && fits(message)) return { text: message.text, index }
  }
}

/** A fact of the plugin's. */
const fact = (received: Collector<Received>, from: number, type: string) => {
  const words = `"type":"${type}","plugin":"@fixtures/home"`
  return next(received, from, ({ topic: at, text }) => at === 'host/lifecycle' && text.includes(words))
}

const isCleared = ({ topic: at, text }: Received): boolean => at === topic && text === ''
const isShown = ({ topic: at, text }: Received): boolean => at === topic && text !== ''

async function watch(t: TestContext, url: string) {
  const client = await connect(t, url)
  const received = collect(client)
  await client.subscribeAsync(['homeassistant/#', 'host/plugins/+/+/exposed/#'], { qos: 1 })
  return { client, received }
}

test('A plugin that is switched on is a device; commands reach Lua and its state comes back; switched off it is gone', async (t) => {
  const host = await start(t)
  const { client, received } = await watch(t, host.mqttUrl)
  await installAndStart(host, 'home')

  const { text } = await next(received, 0, isShown)
  const payload = JSON.parse(text) as JsonObject
  assert.deepEqual(mistakesIn(payload), [])
  assert.deepEqual(Object.keys(payload.cmps as JsonObject), ['lamp', 'level', 'warm'])
  const { lamp } = payload.cmps as Record<string, Record<string, string>>
  assert.ok(lamp?.brightness_command_topic !== undefined && lamp.state_topic !== undefined)

  const said = (at: string, wanted: unknown) =>
    next(received, 0, (message) => message.topic === at && message.text === JSON.stringify(wanted))
  await said(lamp.state_topic, { state: false, brightness: 0 })
  await said(`${exposed}/warm`, { value: 20.5 })
  client.publish(lamp.brightness_command_topic, '77')
  await said(lamp.state_topic, { state: false, brightness: 77 })
  client.publish(`${exposed}/lamp/state/set`, 'ON')
  await said(lamp.state_topic, { state: true, brightness: 77 })
  // Outside its bounds: refused, and nothing is said.
  client.publish(`${exposed}/level/value/set`, '11')
  client.publish(`${exposed}/level/value/set`, '4.5')
  await said(`${exposed}/level`, { value: 4.5 })
  assert.deepEqual(
    received.all.filter((message) => message.topic === `${exposed}/level`).map((message) => message.text),
    ['{"value":3}', '{"value":4.5}'],
  )
  // An exposed control knows its type and its bounds from there.
  const controls = `/api/plugins/${id}/controls`
  assert.equal((await host.request('PUT', `${controls}/level`, { body: { value: 99 } })).status, 422)
  assert.deepEqual((await host.request('PUT', `${controls}/level`, { body: { value: '7' } })).body, {
    id: 'level',
    value: 7,
  })

  await host.request('POST', `/api/plugins/${id}/toggle`, { body: { enabled: false } })
  await next(received, 0, isCleared)
  for (const name of ['lamp', 'level', 'warm'])
    await next(received, 0, (message) => message.topic === `${exposed}/${name}` && message.text === '')
})

test('A reload does not make Home Assistant forget the device; what is new in it is said; its birth gets all again', async (t) => {
  const host = await start(t)
  const { client, received } = await watch(t, host.mqttUrl)
  await installAndStart(host, 'home')
  await host.request('POST', `/api/plugins/${id}/reload`)
  await host.request('POST', `/api/plugins/${id}/config`, { body: { config: { bell: true } } })
  const isBell = (message: Received): boolean =>
    isShown(message) && message.text.includes('"event_types":["ring"]')
  await next(received, 0, isBell)
  const texts = (): string[] => received.all.filter(({ topic: at }) => at === topic).map(({ text }) => text)
  assert.equal(texts().length, 2)

  await client.publishAsync('homeassistant/status', 'online', { qos: 1 })
  let count = 0
  const again = await next(received, 0, (message) => isShown(message) && ++count === 3)
  assert.equal(again.text, texts()[1])

  // An event has happened once: who comes later must not take it for a new one.
  await client.publishAsync('test/ring', '')
  const ring = await next(received, 0, ({ topic: at }) => at === `${exposed}/bell`)
  assert.equal(ring.text, '{"event_type":"ring"}')
  const late = await watch(t, host.mqttUrl)
  const values = ['lamp', 'level', 'warm'].map((name) => `${exposed}/${name}`)
  const retained = [topic, ...values, ...values.map((at) => `${at}/availability`)]
  for (const wanted of retained) await next(late.received, 0, (message) => message.topic === wanted)
  await client.publishAsync('homeassistant/mark', 'x', { qos: 1 })
  await next(late.received, 0, (message) => message.topic === 'homeassistant/mark')
  assert.equal(late.received.all.length, retained.length + 1)
})

test('Neither an update, nor one that does not run, nor a rollback makes Home Assistant forget the device', async (t) => {
  const host = await start(t)
  const { client, received } = await watch(t, host.mqttUrl)
  await installAndStart(host, 'home')
  const versions: string[] = []
  async function after(command: string): Promise<void> {
    const { body } = await host.request('POST', `/api/plugins/${id}/${command}`, { body: {} })
    versions.push(`${String(body.version)} ${String(body.state)}`)
  }
  await host.publish([{ ...home, manifest: { ...home.manifest, version: '1.1.0' } }])
  await after('update')
  await host.publish([{ ...home, manifest: { version: '1.2.0' }, lua: 'error("no")' }])
  await after('update')
  await after('rollback')
  assert.deepEqual(versions, ['1.1.0 running', '1.1.0 running', '1.0.0 running'])
  await client.publishAsync('homeassistant/mark', 'x', { qos: 1 })
  await next(received, 0, (message) => message.topic === 'homeassistant/mark')
  assert.equal(received.all.some(isCleared), false)
})

test('A plugin that crashes stays a device while it is started again, and one that stays down is none', async (t) => {
  // In a worker of its own: from a shared one it would be moved first.
  const restartPolicy = { ...defaultRestartPolicy, budget: 2, firstDelay: 1 }
  const host = await start(t, { limits: generousTime, settings: { isolation: 'dedicated' }, restartPolicy })
  const { client, received } = await watch(t, host.mqttUrl)
  await installAndStart(host, 'home')
  const shown = await next(received, 0, isShown)
  await client.subscribeAsync('host/lifecycle', { qos: 1 })
  await client.publishAsync('test/crash', '')
  const crashed = await fact(received, shown.index, 'PluginCrashed')
  const back = await fact(received, crashed.index, 'PluginLoaded')
  await client.publishAsync('test/crash', '')
  const down = await fact(received, back.index, 'PluginCrashed')
  await next(received, shown.index, isCleared)
  assert.equal(received.all.slice(0, down.index).some(isCleared), false)
})

test('A plugin that has lost its worker by the fault of a neighbour stays a device', async (t) => {
  const culprit = {
    id: 'culprit',
    lua: `
local plugin = Plugin:new("culprit")
plugin:onInit(function()
  plugin:mqttSubscribe("test/hang", function() ${unstoppable} end)
end)
return plugin
`,
  }
  const host = await start(t, { plugins: [home, culprit], settings: { isolation: 'shared' } })
  const { client, received } = await watch(t, host.mqttUrl)
  for (const plugin of ['home', 'culprit']) {
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${plugin}` } })
    await host.request('POST', `/api/plugins/${plugin}/toggle`, { body: { enabled: true } })
  }
  const shown = await next(received, 0, isShown)
  await client.subscribeAsync('host/lifecycle', { qos: 1 })
  await client.publishAsync('test/hang', '')
  await fact(received, shown.index, 'PluginLoaded')
  assert.equal(received.all.some(isCleared), false)
})

test('An uninstalled plugin is no device, also when it was uninstalled while the host was down', async (t) => {
  const broker = await startBus(t, { root: 'elsewhere' })
  const host = await start(t, { settings: { mqttUrl: broker.url } })
  const { received } = await watch(t, broker.url)
  await installAndStart(host, 'home')
  const first = await next(received, 0, isShown)
  await host.request('DELETE', `/api/plugins/${id}`)
  const uninstalled = await next(received, first.index, isCleared)

  await installAndStart(host, 'home')
  const second = await next(received, uninstalled.index, isShown)
  await host.host.close()
  assert.equal(received.all.slice(second.index + 1).some(isCleared), false)
  const path = join(host.directory, '.host.json')
  const file = JSON.parse(await readFile(path, 'utf8')) as { plugins: { installed: unknown[] } }
  assert.equal(file.plugins.installed.length, 1)
  file.plugins.installed = []
  await writeFile(path, JSON.stringify(file))
  await host.restart()
  await next(received, second.index, isCleared)
})

test('Without a prefix nothing is discovered, and what is exposed is on the bus all the same', async (t) => {
  const host = await start(t, { settings: { discoveryPrefix: '' } })
  const { client, received } = await watch(t, host.mqttUrl)
  await installAndStart(host, 'home')
  await next(received, 0, (message) => message.topic === `${exposed}/warm`)
  await client.publishAsync('homeassistant/mark', 'x', { qos: 1 })
  await next(received, 0, (message) => message.topic === 'homeassistant/mark')
  assert.deepEqual(
    received.all
      .filter((message) => message.topic.startsWith('homeassistant/'))
      .map((message) => message.topic),
    ['homeassistant/mark'],
  )
})

test('An object of another plugin is shown by the plugin that exposes it, and is set in the other', async (t) => {
  const maker = {
    id: 'maker',
    lua: `
local plugin = Plugin:new("maker")
local class = {}
class.__index = class
function class:getId() return self.serial end
function class:get(feature) return self.values[feature] end
function class:set(feature, value)
  self.values[feature] = value
  if self.callback then self.callback(value) end
end
function class:onChange(callback) self.callback = callback return self end
function class:on() error("on was called") end
function plugin:create(serial) return setmetatable({ serial = serial, values = { state = false, brightness = 5 } }, class) end
`,
  }
  const user = {
    id: 'user',
    lua: `
local plugin = Plugin:new("user")
plugin:onInit(function()
  local lamp = Plugin.get("maker"):create("lamp-1")
  assert(expose(lamp, "light", { name = "Lamp" }) == lamp)
end)
`,
    manifest: { dependencies: ['@fixtures/maker'] },
  }
  const host = await start(t, { plugins: [maker, user] })
  const { client, received } = await watch(t, host.mqttUrl)
  for (const name of ['maker', 'user']) {
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${name}` } })
    await host.request('POST', `/api/plugins/%40fixtures%2F${name}/toggle`, { body: { enabled: true } })
  }
  const shown = await next(
    received,
    0,
    ({ topic: at, text }) => at.includes('house_fixtures_user') && text !== '',
  )
  assert.deepEqual(mistakesIn(JSON.parse(shown.text) as JsonObject), [])
  const at = 'host/plugins/@fixtures/user/exposed/lamp-1'
  await next(received, 0, ({ topic: on, text }) => on === at && text === '{"state":false,"brightness":5}')
  client.publish(`${at}/brightness/set`, '100')
  await next(received, 0, ({ topic: on, text }) => on === at && text === '{"state":false,"brightness":100}')
  assert.deepEqual((await host.request('GET', '/api/plugins/user/logs?level=error')).body.logs, [])
})
