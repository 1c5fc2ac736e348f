import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Logger } from '../../src/base/log/log.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { collect, connect } from '../bus/bus-fixture.ts'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { logMessages, startTestHost, type TestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'
import { countingRegisters, type ModbusServer, startModbusServer } from '../outside/modbus/modbus-server.ts'
import { startWebServer, type WebServer } from '../outside/web-server.ts'

/** Does what it is told through its control, and says there what came of it. */
const probe = (id: string, manifest: Record<string, unknown>, version = '1.0.0'): FixturePlugin => ({
  id,
  version,
  manifest,
  lua: `
    local plugin = Plugin:new("${id}")
    local answer = "nothing"
    local heard = {}
    local deeds = {
      look = function() end,
      http = function(url)
        answer = "waiting"
        plugin:httpRequest({ url = url }, function(r) answer = r.err or r.body end)
      end,
      modbus = function(port)
        answer = "waiting"
        Modbus.readHolding({ host = "127.0.0.1", port = tonumber(port), unit = 1, addr = 7, qty = 1 },
          function(registers, err) answer = err or tostring(registers[1]) end)
      end,
      publish = function(topic)
        local done, message = plugin:mqttPublish(topic, "x")
        answer = tostring(done) .. (message and " " .. message or "")
      end,
      subscribe = function(filter)
        plugin:mqttSubscribe(filter, function(topic) heard[#heard + 1] = topic end)
        answer = "subscribed"
      end,
      heard = function() answer = "heard " .. table.concat(heard, " ") end,
      get = function(other) answer = Plugin.get(other):greet() end,
      require = function(other) answer = require(other):greet() end,
      object = function(path) answer = tostring(plugin:getObject(path).value) end,
      list = function()
        local ids = {}
        for _, other in ipairs(Plugin.list()) do ids[#ids + 1] = other.shortId end
        answer = table.concat(ids, " ")
      end,
    }
    plugin:control("try", function() return answer end, function(text)
      local deed, what = text:match("^(%S+) ?(.*)$")
      local ok, err = pcall(deeds[deed], what)
      if not ok then answer = tostring(err) end
    end)
    plugin:onInit(function() plugin:upsertObject("thing", { value = "${id}" }) end)
    function plugin:greet() return "hello from ${id}" end
  `,
})

const configSchema = [
  { key: 'server', type: 'string' },
  { key: 'topic', type: 'string', default: 'first/#' },
]
const lines: { message: string; fields: unknown }[] = []
const logger: Logger = { ...silentLogger, warn: (message, fields) => lines.push({ message, fields }) }

let host: TestHost
let web: WebServer
let other: WebServer
let meter: ModbusServer
before(async () => {
  web = await startWebServer((seen, response) => {
    if (seen.target === '/away') {
      response.writeHead(302, { location: `${other.url}/away-again` }).end()
    } else if (seen.target === '/home') response.writeHead(302, { location: '/end' }).end()
    else response.end('web')
  })
  other = await startWebServer((_seen, response) => response.end('other'))
  meter = await startModbusServer(countingRegisters)
  host = await startTestHost({
    logger,
    plugins: [
      probe('free', {}),
      probe('closed', { permissions: {} }),
      probe('secret', { configSchema: [{ key: 'pin', type: 'string', secret: true }], permissions: {} }),
      probe('wide', { permissions: { mqtt: { subscribe: ['#'] } } }),
      probe('listed', {
        configSchema,
        permissions: {
          hosts: [`127.0.0.1:${web.port}`, `127.0.0.1:${meter.port}`, '${config.server}'],
          mqtt: { publish: ['out/+'], subscribe: ['${config.topic}'] },
          plugins: ['@fixtures/free'],
        },
      }),
    ],
  })
  for (const id of ['free', 'closed', 'secret', 'wide', 'listed']) {
    const installed = await host.request('POST', '/api/plugins/install', {
      body: { fullId: `@fixtures/${id}` },
    })
    assert.equal(installed.status, 201, JSON.stringify(installed.body))
    const { status } = await host.request('POST', `/api/plugins/${id}/toggle`, { body: { enabled: true } })
    assert.equal(status, 200)
  }
})
after(async () => {
  await host.close()
  await Promise.all([web.close(), other.close(), meter.close()])
})

async function attempt(id: string, text: string): Promise<string> {
  const { status, body } = await host.request('PUT', `/api/plugins/@fixtures/${id}/controls/try`, {
    body: { value: text },
  })
  assert.equal(status, 200, JSON.stringify(body))
  return String(body.value)
}

/** What came of it, when it takes its time. */
async function outcome(id: string, text: string): Promise<string> {
  const answer = await attempt(id, text)
  if (answer !== 'waiting') return answer
  return until(`an outcome of ${text}`, async () => {
    const later = await attempt(id, 'look')
    return later !== 'waiting' && later
  })
}

async function refusalsIn(id: string): Promise<string[]> {
  const messages = await logMessages(host, `@fixtures/${id}`, '?limit=5000')
  return messages.filter((message) => message.startsWith('Refused: '))
}

test('an HTTP request goes to listed hosts, and no redirect leads it elsewhere', async () => {
  assert.equal(await outcome('listed', `http ${web.url}/`), 'web')
  assert.equal(await outcome('listed', `http ${web.url}/home`), 'web')
  const refused = /does not allow it to connect to "127\.0\.0\.1"; add "127\.0\.0\.1" to permissions\.hosts/
  assert.match(await outcome('listed', `http ${other.url}/direct`), refused)
  assert.match(await outcome('listed', `http ${web.url}/away`), refused)
  assert.match(await outcome('closed', `http ${web.url}/closed`), refused)
  assert.equal(other.connections, 0)
  assert.ok(!web.seen.some(({ target }) => target === '/closed'))
  assert.equal(await outcome('free', `http ${web.url}/away`), 'other')
})

test('a Modbus connection goes to listed hosts', async () => {
  assert.equal(await outcome('listed', `modbus ${meter.port}`), '7')
  const before = meter.seen.length
  assert.match(await outcome('closed', `modbus ${meter.port}`), /permissions\.hosts/)
  assert.equal(meter.seen.length, before)
  assert.equal(await outcome('free', `modbus ${meter.port}`), '7')
})

test('a wildcard in front of the root is for what is outside of it: of others below it a plugin hears nothing', async (context) => {
  const client = await connect(context, host.mqttUrl)
  assert.equal(await attempt('wide', 'subscribe #'), 'subscribed')
  await attempt('free', 'look')
  await client.publishAsync('outside/last', 'x', { qos: 1 })
  const heard = await until('what it hears', async () => {
    const answer = await attempt('wide', 'heard')
    return answer.includes('outside/last') && answer
  })
  const topics = heard.split(' ').slice(1)
  assert.deepEqual(
    topics.filter((topic) => !topic.startsWith('host/plugins/@fixtures/wide/')),
    ['outside/last'],
  )
})

test('a message goes to listed topics; the host drops it where it may not go', async (context) => {
  const client = await connect(context, host.mqttUrl)
  const received = collect(client)
  await client.subscribeAsync('out/#')
  assert.match(
    await attempt('listed', 'publish out/too/deep'),
    /^false the manifest of \S+ does not allow it to publish to "out\/too\/deep"; add "out\/too\/deep" to permissions\.mqtt\.publish/,
  )
  assert.match(await attempt('closed', 'publish out/closed'), /permissions\.mqtt\.publish/)
  assert.equal(await attempt('listed', 'publish out/listed'), 'true')
  assert.equal(await attempt('free', 'publish out/free/last'), 'true')
  await until('the last message', async () => received.all.some(({ topic }) => topic === 'out/free/last'))
  assert.deepEqual(
    received.all.map(({ topic }) => topic).sort((left, right) => left.localeCompare(right)),
    ['out/free/last', 'out/listed'],
  )
})

test('a subscription is to what is listed, as it is configured when the plugin is loaded', async (context) => {
  const client = await connect(context, host.mqttUrl)
  const hears = (topic: string): Promise<true> =>
    until(`a message on ${topic}`, async () => {
      await client.publishAsync(topic, 'x')
      return (await attempt('listed', 'heard')).includes(topic)
    })
  assert.match(await attempt('listed', 'subscribe #'), /add "#" to permissions\.mqtt\.subscribe/)
  assert.match(await attempt('listed', 'subscribe second/x'), /permissions\.mqtt\.subscribe/)
  assert.equal(await attempt('listed', 'subscribe first/+'), 'subscribed')
  await client.publishAsync('second/x', 'x')
  await hears('first/x')
  assert.ok(!(await attempt('listed', 'heard')).includes('second/x'))
  const saved = await host.request('POST', '/api/plugins/listed/config', {
    body: { config: { topic: 'second/x', server: other.url } },
  })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  assert.match(await attempt('listed', 'subscribe first/+'), /permissions\.mqtt\.subscribe/)
  assert.equal(await attempt('listed', 'subscribe second/x'), 'subscribed')
  await hears('second/x')
  assert.equal(await outcome('listed', `http ${web.url}/away`), 'other')
})

test('a plugin gets, requires, lists and reads the plugins that it lists', async () => {
  assert.equal(await attempt('listed', 'get @fixtures/free'), 'hello from free')
  assert.equal(await attempt('listed', 'get free'), 'hello from free')
  assert.equal(await attempt('listed', 'require @fixtures/free'), 'hello from free')
  assert.equal(await attempt('listed', 'object plugins.fixtures.free.thing'), 'free')
  assert.equal(await attempt('listed', 'object thing'), 'listed')
  assert.equal(await attempt('listed', 'list'), 'free listed')
  const refused = /allow it to use "@fixtures\/secret"; add "@fixtures\/secret" to permissions\.plugins/
  assert.match(await attempt('listed', 'get secret'), refused)
  assert.match(await attempt('listed', 'require @fixtures/secret'), refused)
  assert.match(await attempt('listed', 'object plugins.fixtures.secret.thing'), refused)
  assert.equal(await attempt('free', 'get secret'), 'hello from secret')
  assert.equal(await attempt('free', 'list'), 'closed free listed secret wide')
})

test('a refusal is logged once for each thing, and counted every time', async () => {
  for (let time = 0; time < 3; time += 1) await attempt('secret', 'publish again/and/again')
  assert.deepEqual(await refusalsIn('secret'), [
    'Refused: the manifest of @fixtures/secret does not allow it to publish to "again/and/again"; add "again/and/again" to permissions.mqtt.publish',
  ])
  assert.deepEqual(await refusalsIn('free'), [])
  const { body } = await host.request('GET', '/metrics')
  assert.match(body, /lupine_plugin_refusals_total\{plugin="@fixtures\/secret",permission="publish"\} 3\n/)
})

test('a refusal does not tell a secret', async () => {
  const body = { config: { pin: 'canary-4711' } }
  assert.equal((await host.request('POST', '/api/plugins/secret/config', { body })).status, 200)
  await attempt('secret', 'publish to/canary-4711/x')
  const [refusal = ''] = (await refusalsIn('secret')).slice(-1)
  assert.match(refusal, /publish to "to\/\*\*\*\/x"/)
})

test('an update that may do more says so in the log', async () => {
  lines.length = 0
  await host.publish([probe('closed', { permissions: { hosts: ['new.example'] } }, '1.1.0')])
  const { status, body } = await host.request('POST', '/api/plugins/closed/update', { body: {} })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(body.permissions, { hosts: ['new.example'] })
  assert.deepEqual(
    lines.filter(({ message }) => message.startsWith('An update may')),
    [
      {
        message: 'An update may do more than the version before it',
        fields: { plugin: '@fixtures/closed', version: '1.1.0', permissionsAdded: ['host new.example'] },
      },
    ],
  )
})
