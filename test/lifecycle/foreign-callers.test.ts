import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { collect, connect } from '../bus/bus-fixture.ts'
import { logMessages, startTestHost, type TestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'
import { startWebServer, type WebServer } from '../outside/web-server.ts'

/** A plugin that may little works through the instance of one that may more: it may no more than before. */

let host: TestHost
let web: WebServer

const owner = (hosts: string[]) => ({
  id: 'owner',
  lua: `
    local plugin = Plugin:new("owner")
    plugin:onInit(function() plugin:upsertObject("thing", { value = 1 }) end)
  `,
  manifest: {
    permissions: {
      hosts,
      mqtt: { publish: ['lamp/#'], subscribe: ['lamp/#'] },
      plugins: ['@fixtures/vault'],
    },
  },
})
const vault = {
  id: 'vault',
  lua: 'local plugin = Plugin:new("vault") plugin:onInit(function() plugin:upsertObject("gold", { value = 7 }) end)',
}

/** Tries everything with the instance of `owner`, then prints `done`. */
const foreignCaller = (id: string, permissions?: object) => ({
  id,
  manifest: permissions === undefined ? {} : { permissions },
  lua: `
    local plugin = Plugin:new("${id}")
    local function try(name, f, ...) print(name, pcall(f, ...)) end
    plugin:onInit(function(config)
      local owner = Plugin.get("owner")
      try("publish", owner.mqttPublish, owner, "lamp/${id}", "on")
      try("elsewhere", owner.mqttPublish, owner, "door/${id}", "open")
      try("subscribe", function() owner:mqttSubscribe("lamp/#", print) end)
      try("object", function() return owner:getObject("plugins.fixtures.vault.gold").value end)
      try("list", owner.list)
      local waiting = 3
      local function answered(name)
        return function(answer)
          print(name, answer.err or answer.body)
          waiting = waiting - 1
          if waiting == 0 then print("done") end
        end
      end
      owner:httpRequest({ url = config.url }, answered("request"))
      owner:httpGet(config.url, answered("get"))
      owner:httpPost(config.url, "x", answered("post"))
    end)
  `,
})

const guest = { plugins: ['@fixtures/owner'] }

/** Has `owner` send something to a machine, and tell of another plugin's values. */
const listener = {
  id: 'listener',
  manifest: { permissions: guest },
  lua: `
    local plugin = Plugin:new("listener")
    plugin:onInit(function()
      local owner = Plugin.get("owner")
      print(owner:udpSocket():send("127.0.0.1", 9, "x"))
      print(pcall(owner.onSensor, owner, "@fixtures/vault/gold", print))
      print(pcall(owner.onObject, owner, "plugins.fixtures.vault.gold", print))
      owner:onObject("plugins.fixtures.**", function(_, _, path) print("heard", path) end)
    end)
  `,
}
const friend = {
  hosts: ['127.0.0.1'],
  mqtt: { publish: ['lamp/#', 'door/#'], subscribe: ['lamp/#'] },
  plugins: ['@fixtures/owner', '@fixtures/vault'],
}

before(async () => {
  web = await startWebServer((_seen, response) => response.end('web'))
  host = await startTestHost({
    plugins: [
      owner([`127.0.0.1:${web.port}`, '127.0.0.1:9']),
      vault,
      listener,
      foreignCaller('guest', guest),
      foreignCaller('friend', friend),
      foreignCaller('undeclared'),
    ],
  })
  for (const id of ['vault', 'owner']) await enable(id)
})
after(async () => {
  await host.close()
  await web.close()
})

async function enable(id: string): Promise<void> {
  await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
  await host.request('POST', `/api/plugins/${id}/config`, { body: { config: { url: `${web.url}/${id}` } } })
  const { body } = await host.request('POST', `/api/plugins/${id}/toggle`, { body: { enabled: true } })
  assert.equal(body.state, 'running', JSON.stringify(body.error))
}

/** What the plugin printed, by what it tried. */
function tried(id: string): Promise<Record<string, string>> {
  return until(`the end of ${id}`, async () => {
    const lines = (await logMessages(host, id)).map((message) => message.replace(/init\.lua:\d+: /, ''))
    if (!lines.includes('done')) return undefined
    return Object.fromEntries(
      lines
        .filter((line) => line.includes('\t'))
        .map((line) => [line.slice(0, line.indexOf('\t')), line.slice(line.indexOf('\t') + 1)]),
    )
  })
}

const notOwners = 'true\tfalse\tthe manifest of @fixtures/owner does not allow it to publish to'

test('what a plugin may not do itself it may not do through another one, and is told why', async (t) => {
  const client = await connect(t, host.mqttUrl)
  const received = collect(client)
  await client.subscribeAsync('lamp/#')
  await enable('guest')
  const refused = (deed: string, value: string, place: string): string =>
    `the manifest of @fixtures/guest does not allow it to ${deed} "${value}"; add "${value}" to permissions.${place}`
  const seen = web.seen.length
  assert.deepEqual(await tried('guest'), {
    publish: `true\tfalse\t${refused('publish to', 'lamp/guest', 'mqtt.publish')}`,
    elsewhere: `true\tfalse\t${refused('publish to', 'door/guest', 'mqtt.publish')}`,
    subscribe: `false\t@fixtures/owner: ${refused('subscribe to', 'lamp/#', 'mqtt.subscribe')}`,
    object: `false\t@fixtures/owner: ${refused('use', '@fixtures/vault', 'plugins')}`,
    list: 'false\t@fixtures/owner: call your own Plugin.list',
    request: refused('connect to', '127.0.0.1', 'hosts'),
    get: refused('connect to', '127.0.0.1', 'hosts'),
    post: refused('connect to', '127.0.0.1', 'hosts'),
  })
  assert.equal(web.seen.length, seen, 'no request went out')
  await client.publishAsync('lamp/end', 'x', { qos: 1 })
  assert.deepEqual(
    (await received.take(1)).map(({ topic }) => topic),
    ['lamp/end'],
  )
  const { resources } = (await host.request('GET', '/api/plugins/owner')).body
  assert.equal(resources.mqttSubscriptions, 0)
})

test('nothing is sent and no value told through another one for a plugin that may not', async () => {
  await enable('listener')
  const refused = (deed: string, value: string, place: string): string =>
    `the manifest of @fixtures/listener does not allow it to ${deed} "${value}"; add "${value}" to permissions.${place}`
  const isRefused = `false\t@fixtures/owner: ${refused('use', '@fixtures/vault', 'plugins')}`
  const lines = await until('the values that it hears of', async () => {
    const found = await logMessages(host, 'listener')
    return found.some((line) => line.startsWith('heard')) && found
  })
  assert.deepEqual(
    lines.map((line) => line.replace(/init\.lua:\d+: /, '')),
    [
      `false\t${refused('connect to', '127.0.0.1', 'hosts')}`,
      isRefused,
      isRefused,
      'heard\tplugins.fixtures.owner.thing',
    ],
  )
})

for (const id of ['friend', 'undeclared']) {
  test(`what both may do is done, and nothing that the owner of the instance may not: ${id}`, async () => {
    await enable(id)
    const { elsewhere, subscribe, ...done } = await tried(id)
    assert.ok(elsewhere?.startsWith(notOwners), elsewhere)
    assert.ok(subscribe?.startsWith('true'), subscribe)
    assert.deepEqual(done, {
      publish: 'true\ttrue',
      object: 'true\t7',
      list: 'false\t@fixtures/owner: call your own Plugin.list',
      request: 'web',
      get: 'web',
      post: 'web',
    })
  })
}
