import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { startHostFor } from '../helpers/test-host.ts'

/** What an update with other settings does to rows that are stored, before and after it is done. */

const path = '/api/plugins/@fixtures/bridge'
const lua = `local plugin = Plugin:new("bridge")
  plugin:onInit(function(config)
    plugin:upsertObject("config", { text = plugin:jsonEncode(config.rules), kind = type(config.rules) })
  end)`

const bridge = (version: string, configSchema: object[], publish: string[]): FixturePlugin => ({
  id: 'bridge',
  version,
  lua,
  manifest: { configSchema, permissions: { mqtt: { publish } } },
})

const text = bridge('1.0.0', [{ key: 'rules', type: 'string' }], ['#'])
const from = { key: 'from', type: 'string', required: true }
const list = (version: string, fields: object[]): FixturePlugin =>
  bridge(
    version,
    [{ key: 'rules', type: 'list', lines: ['{from} -> {to} {…}'], fields: [from, ...fields] }],
    ['${config.rules[].to}'],
  )
const second = list('2.0.0', [
  { key: 'to', type: 'string', required: true },
  { key: 'qos', type: 'integer', default: '0' },
  { key: 'retain', type: 'boolean' },
])
const third = list('3.0.0', [
  { key: 'to', type: 'string', required: true },
  { key: 'qos', type: 'integer', default: '1' },
  { key: 'scale', type: 'number', default: 1 },
  { key: 'name', type: 'string', required: true },
])

test('an update carries the lines of a text over, says so before, and a rollback finds them', async (context) => {
  const host = await startHostFor(context, { plugins: [text] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/bridge' } })
  const rules = 'a -> b\n# a comment\nc -> d retain\nwhat is this'
  await host.request('POST', `${path}/config`, { body: { config: { rules } } })
  await host.request('POST', `${path}/toggle`)
  await host.publish([second])
  const check = async () => (await host.request('POST', `${path}/update/check`, { body: {} })).body
  const first = await check()
  assert.deepEqual(
    [first.config.valid, first.config.rows, first.fields, first.permissionChanges],
    [
      true,
      [
        { path: '/config/rules', message: 'is read as 2 rows, from the text that is stored' },
        {
          path: '/config/rules',
          message: 'line 4 ("what is this") is left out: it does not read as {from} -> {to} {…}',
        },
      ],
      {
        added: ['rules[].from', 'rules[].to', 'rules[].qos', 'rules[].retain'],
        removed: [],
        changed: ['rules'],
      },
      { added: [], removed: [{ kind: 'publish', value: '#' }] },
    ],
  )
  const updated = await host.request('POST', `${path}/update`, { body: {} })
  assert.deepEqual([updated.status, updated.body.state, updated.body.config], [200, 'running', { rules }])
  const { config } = (await host.request('GET', `${path}/objects`)).body.objects
  assert.deepEqual(JSON.parse(config.text), [
    { from: 'a', to: 'b', qos: 0 },
    { from: 'c', to: 'd', retain: true, qos: 0 },
  ])
  const { logs } = (await host.request('GET', `${path}/logs?level=warn`)).body
  assert.match(logs.at(-1).message, /^The setting \/config\/rules line 4/)
  const back = await host.request('POST', `${path}/rollback`, { body: {} })
  assert.deepEqual([back.body.version, back.body.state, back.body.config], ['1.0.0', 'running', { rules }])

  // Without the line that is none, all see rows.
  await host.request('POST', `${path}/config`, { body: { config: { rules: 'a -> b' } } })
  const rows = await host.request('POST', `${path}/update`, { body: {} })
  assert.deepEqual(rows.body.config, { rules: [{ from: 'a', to: 'b' }] })
})

test('the check of an update says what happens to stored rows', async (context) => {
  const host = await startHostFor(context, { plugins: [second] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/bridge' } })
  const rules = [
    { from: 'a', to: 'b', qos: 2, retain: true },
    { from: 'c', to: 'd', retain: false },
    { from: 'e', to: 'f', own: 1 },
  ]
  await host.request('POST', `${path}/config`, { body: { config: { rules } } })
  await host.publish([third])
  const { body } = await host.request('POST', `${path}/update/check`, { body: {} })
  assert.deepEqual(
    [body.fields, body.config.rows.map(({ message }: { message: string }) => message)],
    [
      { added: ['rules[].scale', 'rules[].name'], removed: ['rules[].retain'], changed: ['rules[].qos'] },
      [
        'gets qos 1 in 2 rows, where nothing is set',
        'gets scale 1 in 3 rows',
        'keeps retain in 2 rows, where nothing reads it any more',
      ],
    ],
  )
  assert.deepEqual(
    [body.config.valid, body.config.errors.map((error: { path: string }) => error.path)],
    [false, ['/config/rules/0/name', '/config/rules/1/name', '/config/rules/2/name']],
  )
})
