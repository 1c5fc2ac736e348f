import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logMessages, startHostFor } from '../../helpers/test-host.ts'

const plugin = (id: string) =>
  `local plugin = Plugin:new("${id}")
   plugin:onInit(function()
     plugin:sensor("power", function() return 1 end)
     plugin:control("level", function() return 1 end, function() end)
   end)`

/** As people write them; each runs, and says so many words about its manifest. */
const wild: { id: string; version?: string; manifest: Record<string, unknown>; told: string[] }[] = [
  {
    id: 'bare',
    version: '1.0',
    manifest: {
      author: { name: 'Ada' },
      minHostVersion: '0.1',
      description: null,
      docs: ['README.md'],
      exports: { sensors: [{ id: 'power' }], controls: [{ id: 'level', type: 'number', range: '0 - 10' }] },
      configSchema: [
        { key: 'door', type: 'password' },
        { key: 'note', type: 'text', env: '', min: '1' },
        { key: 'count', type: 'integer', min: '1', default: '2' },
        { key: 'mode', type: 'select', enum: ['a', 'b'] },
      ],
    },
    told: [],
  },
  {
    id: 'exporting',
    manifest: {
      exports: { sensors: [{ unit: 'W' }, { id: 'power', unit: 5 }], controls: { level: {} }, objects: [] },
    },
    told: ['/exports/objects', '/exports/sensors/0/id', '/exports/sensors/1/unit', '/exports/controls'],
  },
  {
    id: 'defaulting',
    manifest: {
      configSchema: [
        { key: 'count', type: 'number', default: 'many' },
        { key: 'blank', type: 'boolean', default: ' ' },
        { key: 'both', type: 'string', default: '5' },
        { key: 'rows', type: 'list', items: { type: 'integer', default: '1.5' }, default: '[1, 2]' },
        { key: 'table', type: 'list', fields: [{ key: 'on', type: 'boolean', default: 'perhaps' }] },
        { key: 'list', type: 'list', items: { type: 'string' }, default: 'none' },
      ],
      config: {
        both: { type: 'number', default: {} },
        'a/b': { type: 'boolean', default: 2 },
        list: { label: 'List' },
      },
    },
    told: [
      '/configSchema/0/default',
      '/config/both/default',
      '/configSchema/3/items/default',
      '/configSchema/4/fields/0/default',
      '/configSchema/5/default',
      '/config/a~1b/default',
    ],
  },
  {
    id: 'depending',
    manifest: {
      dependencies: ['http', 5, '@Fixtures/x', 'bare', { id: '@fixtures/nowhere', optional: true }],
    },
    // The places in the file, whatever is left out of it.
    told: ['/dependencies/1', '/dependencies/0', '/dependencies/2'],
  },
]

test('manifests that are meant well install and run, and what is left out is told in the log and the API', async (t) => {
  const host = await startHostFor(t, {
    plugins: [
      ...wild.map(({ told: _, ...one }) => ({ ...one, lua: plugin(one.id), files: { 'README.md': '# x' } })),
      { id: 'needing', lua: plugin('needing'), manifest: { dependencies: ['later'] } },
      { id: 'later', lua: plugin('later') },
    ],
  })
  const install = (id: string) =>
    host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
  for (const { id, told } of wild) {
    await t.test(id, async () => {
      const installed = await install(id)
      assert.equal(installed.status, 201, JSON.stringify(installed.body))
      const path = `/api/plugins/@fixtures/${id}`
      const { body } = await host.request('POST', `${path}/toggle`, { body: { enabled: true } })
      assert.deepEqual([body.state, body.version], ['running', '1.0.0'])
      assert.deepEqual(
        body.warnings.map((warning: { path: string }) => warning.path),
        told,
      )
      assert.deepEqual(
        (await logMessages(host, `@fixtures/${id}`, '?level=warn')).map((message) =>
          message.split(' ').slice(0, 2),
        ),
        told.map((place) => ['plugin.json', place]),
      )
    })
  }
  await t.test('what was meant is what there is', async () => {
    const { body } = await host.request('GET', '/api/plugins/@fixtures/bare')
    assert.deepEqual([body.author, body.docs], ['Ada', [{ title: 'README.md', file: 'README.md' }]])
    assert.deepEqual(
      body.fields.map(({ key, type, secret, env, min, default: value }: Record<string, unknown>) => [
        ...[key, type, secret, env, min, value],
      ]),
      [
        ['door', 'password', true, null, null, null],
        ['note', 'text', false, null, 1, null],
        ['count', 'integer', false, null, 1, 2],
        ['mode', 'select', false, null, null, null],
      ],
    )
    const catalog = (await host.request('GET', '/api/catalog?q=bare')).body.plugins
    assert.deepEqual(
      catalog.map((entry: Record<string, unknown>) => [entry.version, entry.updateAvailable]),
      [['1.0.0', false]],
    )
    const put = (value: number) =>
      host.request('PUT', '/api/plugins/@fixtures/bare/controls/level', { body: { value } })
    assert.deepEqual([(await put(10)).status, (await put(11)).status], [200, 422])
    const config = { door: 'sesame', note: 'two\nlines', count: 3, mode: 'b' }
    const saved = await host.request('POST', '/api/plugins/@fixtures/bare/config', { body: { config } })
    assert.deepEqual(saved.body.config, { ...config, door: '********' })
    const events = await host.request('GET', '/api/plugins/@fixtures/bare/history')
    assert.ok(!JSON.stringify(events.body).includes('sesame'))
  })
  await t.test('a bare name of a plugin that a repository has is needed', async () => {
    const refused = await install('needing')
    assert.deepEqual([refused.status, refused.body.code], [422, 'dependency_unmet'])
    assert.match(refused.body.detail, /@fixtures\/later, which is not installed/)
    await install('later')
    assert.equal((await install('needing')).status, 201)
  })
})

test('a manifest without id, name or usable version, with a path that leaves the folder or a field without a key is refused', async (t) => {
  const refused: Record<string, [Record<string, unknown>, string]> = {
    'no-id': [{ id: null }, '/id'],
    'no-name': [{ name: null }, '/name'],
    'no-version': [{ version: 'newest' }, '/version'],
    'up-file': [{ files: ['../x.lua'] }, '/files/0'],
    'up-doc': [{ docs: ['../../x.md'] }, '/docs/0/file'],
    'no-key': [{ configSchema: [{ type: 'string' }] }, '/configSchema/0/key'],
  }
  const host = await startHostFor(t, {
    plugins: Object.entries(refused).map(([id, [manifest]]) => ({ id, lua: plugin(id), manifest })),
  })
  for (const [id, [, place]] of Object.entries(refused)) {
    const { status, body } = await host.request('POST', '/api/plugins/install', {
      body: { fullId: `@fixtures/${id}` },
    })
    assert.deepEqual([status, body.code], [422, 'manifest_invalid'], id)
    assert.deepEqual(
      body.errors.map(({ path }: { path: string }) => path),
      [place],
    )
  }
})
