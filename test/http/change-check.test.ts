import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { hostVersion, startTestHost, type TestHost } from '../helpers/test-host.ts'

const lua = (id: string): string => `local plugin = Plugin:new("${id}")\nplugin:onInit(function() end)\n`

const radio = (changes: Partial<FixturePlugin> = {}): FixturePlugin => ({
  id: 'radio',
  lua: lua('radio'),
  manifest: {
    description: 'Plays the news',
    author: 'Rita',
    configSchema: [
      { key: 'station', type: 'string', label: 'Station', default: 'one' },
      { key: 'volume', type: 'number', default: '5', max: 10 },
      { key: 'pin', type: 'string', secret: true },
    ],
    permissions: { hosts: ['*.example.com', 'old.example.net'], mqtt: { publish: ['radio/#'] } },
  },
  files: { 'old.md': 'old' },
  ...changes,
})

const others: FixturePlugin[] = [
  { id: 'plain', lua: lua('plain') },
  {
    id: 'demanding',
    lua: lua('demanding'),
    manifest: { minHostVersion: '99.0.0', dependencies: ['@fixtures/absent@^1.0.0'] },
  },
  { id: 'crooked', lua: '', manifest: { permissions: { hosts: ['http://example.com/'] } } },
]

let host: TestHost
before(async () => {
  host = await startTestHost({ plugins: [radio(), ...others] })
})
after(() => host.close())

const installCheck = (body: object) => host.request('POST', '/api/plugins/install/check', { body })
const updateCheck = (id: string, body: object = {}) =>
  host.request('POST', `/api/plugins/${id}/update/check`, { body })

/** All that a check must leave as it is. */
async function everything(): Promise<unknown> {
  const history = await host.request('GET', '/api/history')
  const folders = await readdir(join(host.directory, 'plugins')).catch(() => [])
  return [history.body, folders, await readFile(join(host.directory, '.host.json'), 'utf8')]
}

test('the check of an installation tells all that would come, and changes nothing', async () => {
  const before = await everything()
  const { status, body } = await installCheck({ fullId: '@fixtures/radio' })
  assert.equal(status, 200)
  assert.deepEqual(body, {
    id: '@fixtures/radio',
    from: null,
    to: '1.0.0',
    unchanged: false,
    name: 'Fixture radio',
    description: 'Plays the news',
    author: 'Rita',
    repository: 'fixtures',
    namespaceHeldBy: null,
    storedBy: null,
    permissions: { hosts: ['*.example.com', 'old.example.net'], mqtt: { publish: ['radio/#'] } },
    permissionChanges: {
      added: [
        { kind: 'host', value: '*.example.com' },
        { kind: 'host', value: 'old.example.net' },
        { kind: 'publish', value: 'radio/#' },
      ],
      removed: [],
    },
    environment: { read: [], refused: [] },
    fields: { added: ['station', 'volume', 'pin'], removed: [], changed: [] },
    labels: { station: 'Station', volume: 'volume', pin: 'pin' },
    config: { valid: true, errors: [], effective: { station: 'one', volume: 5 }, rows: [] },
    files: { added: ['init.lua', 'plugin.json'], removed: [], changed: [] },
    dependencies: { missing: [] },
    hostVersion: { required: null, supported: true },
    problems: [],
  })
  assert.deepEqual(await everything(), before)
})

test('a plugin that declares no permissions is marked as one that may do everything', async () => {
  const { body } = await installCheck({ fullId: '@fixtures/plain', id: 'plain', version: '1.0.0' })
  assert.deepEqual(
    [body.permissions, body.permissionChanges.added],
    [null, [{ kind: 'everything', value: '*' }]],
  )
  const installed = await host.request('POST', '/api/plugins/install', {
    body: { fullId: '@fixtures/plain' },
  })
  assert.deepEqual([installed.status, installed.body.permissions], [201, null])
})

test('what would refuse the command is told with the rest', async () => {
  const { status, body } = await installCheck({ fullId: '@fixtures/demanding' })
  assert.deepEqual(
    [status, body.hostVersion, body.dependencies.missing[0].dependency, body.dependencies.missing[0].reason],
    [200, { required: '99.0.0', supported: false }, '@fixtures/absent@^1.0.0', 'missing'],
  )
  const codes = body.problems.map(({ code }: { code: string }) => code)
  assert.deepEqual(codes, ['host_version_unsupported', 'dependency_unmet'])
  assert.match(body.problems[0].detail, new RegExp(`99.0.0 or newer; this is ${hostVersion}`))
})

test('the check of an update compares with what is installed, and hides secrets', async () => {
  assert.equal(
    (await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/radio' } })).status,
    201,
  )
  const config = { station: 'two', volume: 9, pin: '4711-canary', extra: true }
  await host.request('POST', '/api/plugins/radio/config', { body: { config } })
  const same = await updateCheck('@fixtures/radio')
  assert.deepEqual(
    [same.status, same.body.unchanged, same.body.from, same.body.to, same.body.permissionChanges],
    [200, true, '1.0.0', '1.0.0', { added: [], removed: [] }],
  )
  const newer = radio({
    version: '2.0.0',
    lua: `${lua('radio')}-- louder\n`,
    manifest: {
      files: ['init.lua', 'old.md'],
      configSchema: [
        { key: 'station', type: 'string', label: 'Station', default: 'one' },
        { key: 'volume', type: 'number', default: '3', max: 8 },
        { key: 'city', type: 'string', required: true },
      ],
      permissions: {
        hosts: ['api.example.com', 'new.example.net'],
        mqtt: { publish: ['radio/play'], subscribe: ['${config.station}'] },
      },
    },
  })
  await host.publish([newer, ...others])
  const before = await everything()
  const { status, body } = await updateCheck('radio', { version: '2.0.0' })
  assert.equal(status, 200)
  assert.deepEqual([body.from, body.to, body.unchanged], ['1.0.0', '2.0.0', false])
  assert.deepEqual(body.permissionChanges, {
    // The hosts below example.com were allowed before.
    added: [
      { kind: 'host', value: 'new.example.net' },
      { kind: 'subscribe', value: '${config.station}' },
    ],
    removed: [
      { kind: 'host', value: '*.example.com' },
      { kind: 'host', value: 'old.example.net' },
      { kind: 'publish', value: 'radio/#' },
    ],
  })
  assert.deepEqual(body.fields, { added: ['city'], removed: ['pin'], changed: ['volume'] })
  assert.deepEqual(body.files, { added: ['old.md'], removed: [], changed: ['init.lua', 'plugin.json'] })
  assert.equal(body.config.valid, false)
  assert.deepEqual(
    body.config.errors.map(({ path }: { path: string }) => path),
    ['/config/volume', '/config/city'],
  )
  assert.deepEqual(body.config.effective, { station: 'two', volume: 9, pin: '********', extra: true })
  assert.ok(!JSON.stringify(body).includes('canary'))
  assert.deepEqual(await everything(), before)
})

test('a version that asks for nothing more by name may still ask for everything', async () => {
  await host.publish([radio({ version: '3.0.0', manifest: {} }), ...others])
  const { body } = await updateCheck('radio')
  assert.deepEqual(body.permissionChanges.added, [{ kind: 'everything', value: '*' }])
})

test('a check refuses what the command would refuse, with the same code', async () => {
  const altered = join(host.repository, 'plugins.json')
  const index = JSON.parse(await readFile(altered, 'utf8'))
  index.plugins.push({
    id: 'altered',
    name: 'x',
    version: '1.0.0',
    path: 'plain',
    sha256: { 'plugin.json': '0'.repeat(64) },
  })
  await writeFile(altered, JSON.stringify(index))
  const cases: [path: string, body: object, status: number, code: string][] = [
    ['install', { fullId: '@fixtures/plain' }, 409, 'already_installed'],
    ['install', { fullId: '@fixtures/none' }, 404, 'plugin_not_in_repository'],
    ['install', { fullId: '@fixtures/crooked' }, 422, 'manifest_invalid'],
    ['install', { fullId: '@fixtures/altered' }, 422, 'integrity_mismatch'],
    ['install', { fullId: '@fixtures/demanding', id: 'radio' }, 400, 'body_invalid'],
    ['install', { fullId: '@fixtures/demanding', repository: 'none' }, 404, 'repository_unknown'],
    ['@fixtures/none/update', {}, 404, 'plugin_not_installed'],
    ['radio/update', { version: '7.0.0' }, 404, 'plugin_not_in_repository'],
    ['radio/update', { vision: '7.0.0' }, 400, 'body_invalid'],
  ]
  for (const [path, body, status, code] of cases) {
    const answer = await host.request('POST', `/api/plugins/${path}/check`, { body })
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify([path, body]))
    const command = await host.request('POST', `/api/plugins/${path}`, { body })
    assert.deepEqual([command.status, command.body.code], [status, code], JSON.stringify([path, body]))
  }
})

/** What an update adds, for a plugin that is configured with `config`: as the check says, and as the history does. */
async function addedByUpdate(
  config: object,
  before: Record<string, unknown>,
  next: Record<string, unknown>,
): Promise<{ added: unknown; removed: unknown }> {
  const plugin = (version: string, manifest: Record<string, unknown>): FixturePlugin => ({
    id: 'gauge',
    version,
    lua: lua('gauge'),
    manifest,
  })
  await host.publish([plugin('1.0.0', before), ...others])
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/gauge' } })
  await host.request('POST', '/api/plugins/gauge/config', { body: { config } })
  await host.publish([plugin('2.0.0', next), ...others])
  const checked = await updateCheck('gauge')
  await host.request('POST', '/api/plugins/gauge/update', { body: {} })
  const history = await host.request('GET', '/api/plugins/@fixtures/gauge/history')
  const { type, data } = history.body.events.at(-1)
  assert.equal(type, 'PluginUpdated')
  assert.deepEqual(data.permissionsAdded ?? [], checked.body.permissionChanges.added)
  await host.request('DELETE', '/api/plugins/gauge?purge=files')
  return checked.body.permissionChanges
}

const url = (value: string) => ({ key: 'url', type: 'string', default: value })
const toUrl = { hosts: ['${config.url}'] }
const toTopic = { mqtt: { publish: ['${config.topic}'], subscribe: ['${config.topic}'] } }
const topic = (value: string) => ({ key: 'topic', type: 'string', default: value })
const hostEntry = [{ kind: 'host', value: '${config.url}' }]

const updates: [
  what: string,
  config: object,
  before: Record<string, unknown>,
  next: Record<string, unknown>,
  added: unknown[],
][] = [
  [
    'a host by another default',
    {},
    { configSchema: [url('http://home.example')], permissions: toUrl },
    { configSchema: [url('http://evil.example')], permissions: toUrl },
    hostEntry,
  ],
  [
    'no host where the owner has set it',
    { url: 'http://home.example' },
    { configSchema: [url('http://first.example')], permissions: toUrl },
    { configSchema: [url('http://evil.example')], permissions: toUrl },
    [],
  ],
  [
    'no host for another path at the same one',
    {},
    { configSchema: [url('http://home.example/a')], permissions: toUrl },
    { configSchema: [url('https://home.example/b')], permissions: toUrl },
    [],
  ],
  [
    'no host for one that was listed by name',
    {},
    { configSchema: [url('')], permissions: { hosts: ['*.example'] } },
    { configSchema: [url('http://home.example')], permissions: toUrl },
    [],
  ],
  [
    'a host that was not configured before',
    {},
    { configSchema: [{ key: 'url', type: 'string' }], permissions: toUrl },
    { configSchema: [url('http://evil.example')], permissions: toUrl },
    hostEntry,
  ],
  [
    'nothing while nothing is configured',
    {},
    { configSchema: [{ key: 'url', type: 'string' }], permissions: toUrl },
    { configSchema: [{ key: 'url', type: 'string', label: 'Address' }], permissions: toUrl },
    [],
  ],
  [
    'topics by another default',
    {},
    { configSchema: [topic('lamps/+')], permissions: toTopic },
    { configSchema: [topic('#')], permissions: toTopic },
    [
      { kind: 'publish', value: '${config.topic}' },
      { kind: 'subscribe', value: '${config.topic}' },
    ],
  ],
  [
    'no topics when the default becomes narrower',
    {},
    { configSchema: [topic('lamps/#')], permissions: toTopic },
    { configSchema: [topic('lamps/kitchen')], permissions: toTopic },
    [],
  ],
  [
    'a variable of the host below a beginning that was listed before',
    {},
    { configSchema: [{ key: 'a', env: 'ZONE' }], permissions: { environment: ['Z*'] } },
    { configSchema: [{ key: 'a', env: 'ZEBRA' }], permissions: { environment: ['Z*'] } },
    [{ kind: 'environment', value: 'ZEBRA' }],
  ],
]

for (const [what, config, before, next, added] of updates) {
  test(`an update adds ${what}`, async () => {
    assert.deepEqual((await addedByUpdate(config, before, next)).added, added)
  })
}
