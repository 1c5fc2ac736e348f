import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { collect, connect } from '../bus/bus-fixture.ts'
import { contentOf } from '../helpers/content-of.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { startHostFor, startTestHost, type TestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** Settings that are lists and objects, in a whole host: what Lua gets, and where their secrets show. */

const configSchema = [
  {
    key: 'rules',
    type: 'list',
    maxItems: 3,
    fields: [
      { key: 'from', type: 'string', required: true },
      { key: 'to', type: 'string', required: true },
      { key: 'scale', type: 'number', default: '1' },
      { key: 'token', type: 'string' },
    ],
  },
  { key: 'names', type: 'list', items: { type: 'string' } },
  {
    key: 'broker',
    type: 'object',
    fields: [
      { key: 'host', type: 'string' },
      { key: 'port', type: 'integer', default: '1883' },
    ],
  },
]
const lua = `
  local plugin = Plugin:new("bridge")
  plugin:onInit(function(config)
    plugin:upsertObject("config", { text = plugin:jsonEncode(config), rules = config.rules and #config.rules })
    for _, rule in ipairs(config.rules or {}) do
      plugin:log("warn", "the token is " .. tostring(rule.token))
      plugin:upsertObject("publish", { done = tostring(plugin:mqttPublish(rule.to, "x")), other = tostring((plugin:mqttPublish("other", "x"))) })
    end
  end)
`
const permissions = { mqtt: { publish: ['\${config.rules[].to}'] } }
const plugin = { id: 'bridge', lua, manifest: { configSchema, permissions } }
const path = '/api/plugins/@fixtures/bridge'

let host: TestHost
before(async () => {
  host = await startTestHost({ plugins: [plugin] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/bridge' } })
  await host.request('POST', `${path}/toggle`)
})
after(() => host.close())

const pathsOf = ({ errors }: { errors: { path: string }[] }): string[] => errors.map((error) => error.path)
const configure = (config: object) => host.request('POST', `${path}/config`, { body: { config } })
const objects = async () => (await host.request('GET', `${path}/objects`)).body.objects

test('Lua gets arrays and tables, filled; what is not set is nil, and an empty list is empty', async () => {
  assert.deepEqual((await objects()).config, { text: '{}' })
  const { status } = await configure({
    rules: [{ from: 'a', to: 'b', more: { kept: true } }],
    names: [],
    broker: {},
  })
  assert.equal(status, 200)
  const { config } = await objects()
  assert.deepEqual(
    [JSON.parse(config.text), config.rules],
    [
      { rules: [{ from: 'a', to: 'b', scale: 1, more: { kept: true } }], names: [], broker: { port: 1883 } },
      1,
    ],
  )
})

test('what is wrong is refused with all its places, and nothing is saved', async () => {
  const { status, body } = await configure({
    rules: [{ from: 'a' }, 5, {}, { from: 1, to: 'x' }],
    broker: { port: 'x' },
  })
  assert.deepEqual([status, body.code], [422, 'config_invalid'])
  assert.deepEqual(pathsOf(body).sort(), [
    '/config/broker/port',
    '/config/rules',
    '/config/rules/0/to',
    '/config/rules/1',
    '/config/rules/2/from',
    '/config/rules/2/to',
    '/config/rules/3/from',
  ])
  assert.equal((await host.request('GET', path)).body.config.names.length, 0)
})

test('the API tells the fields within fields, and the check fills them', async () => {
  const { fields } = (await host.request('GET', path)).body
  assert.deepEqual(
    fields[0].fields.map(({ key, default: fallback, secret }: any) => [key, fallback, secret]),
    [
      ['from', null, false],
      ['to', null, false],
      ['scale', 1, false],
      ['token', null, true],
    ],
  )
  const config = { rules: [{ from: 'a', to: 'b', token: 'canary-check' }] }
  const { body } = await host.request('POST', `${path}/config/check`, { body: { config } })
  assert.deepEqual(body, {
    valid: true,
    errors: [],
    effective: { rules: [{ from: 'a', to: 'b', scale: 1, token: '********' }] },
  })
})

test('a secret in a row shows nowhere, and its placeholder stands for that of the same row', async (context) => {
  const listener = await connect(context, host.mqttUrl)
  const seen = collect(listener)
  await listener.subscribeAsync('#')
  const saved = await configure({
    rules: [
      { from: 'a', to: 'b', token: 'canary-one' },
      { from: 'c', to: 'd', token: 'canary-two' },
    ],
  })
  assert.equal(saved.status, 200)
  const shown = saved.body.config.rules
  assert.deepEqual(
    shown.map((row: { token: string }) => row.token),
    ['********', '********'],
  )
  const moved = await configure({ rules: [shown[1], { from: 'new', to: 'n', token: 'canary-three' }] })
  assert.equal(moved.status, 200, JSON.stringify(moved.body))
  assert.match((await objects()).config.text, /canary-two.*canary-three/)
  const lost = await configure({ rules: [{ from: 'a', to: 'elsewhere', token: '********' }] })
  assert.deepEqual([lost.status, pathsOf(lost.body)], [422, ['/config/rules/0/token']])
  await until('a line of the log over MQTT', async () => seen.all.some(({ topic }) => topic.endsWith('/log')))
  const logs = await host.request('GET', `${path}/logs`)
  assert.ok(logs.body.logs.some(({ message }: { message: string }) => message === 'the token is ***'))
  const everything = [
    logs.body,
    (await host.request('GET', path)).body,
    (await host.request('GET', '/api/history')).body,
    (await host.request('GET', `${path}/versions`)).body,
    // What the plugin shows on purpose.
    seen.all.filter(({ topic }) => !topic.includes('/objects/')),
  ]
  assert.doesNotMatch(JSON.stringify(everything), /canary/)
})

test('permissions are those of the rows, and no wider', async () => {
  const { publish } = await objects()
  assert.deepEqual(publish, { done: 'true', other: 'false' })
})

test('over MQTT the placeholder keeps secrets of rows only while nothing else changes', async (context) => {
  const { config } = (await host.request('GET', path)).body
  const client = await connect(context, host.mqttUrl)
  const answers = collect(client)
  await client.subscribeAsync('host/response/config')
  const ask = async (count: number, changed: object) => {
    const request = { plugin: '@fixtures/bridge', config: changed }
    await client.publishAsync('host/request/config', JSON.stringify(request))
    return JSON.parse((await answers.take(count)).at(-1)?.text ?? '')
  }
  assert.equal((await ask(1, config)).status, 'ok')
  const refused = await ask(2, { ...config, names: ['x'] })
  assert.deepEqual(pathsOf(refused.error), ['/config/rules/0/token', '/config/rules/1/token'])
})

test('with a key, secrets in rows are encrypted on disk', async (context) => {
  const secretKeyFile = join(await temporaryDirectory(context), 'key')
  await writeFile(secretKeyFile, 'ab'.repeat(32), { mode: 0o600 })
  const secured = await startHostFor(context, { plugins: [plugin], settings: { secretKeyFile } })
  await secured.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/bridge' } })
  const body = { config: { rules: [{ from: 'open-row', to: 'b', token: 'canary-disk' }] } }
  assert.equal((await secured.request('POST', `${path}/config`, { body })).status, 200)
  const texts = Object.values(await contentOf(secured.directory))
  assert.ok(texts.some((text) => text.includes('open-row')))
  assert.ok(texts.every((text) => !text.includes('canary-disk')))
})
