import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { hiddenValue } from '../../../src/schema/plugin/hidden-value.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { logMessages, startHostFor, type TestHost, type TestHostOptions } from '../../helpers/test-host.ts'

/** Shows what it was configured with. */
const reader = (manifest: Record<string, unknown>, version = '1.0.0'): FixturePlugin => ({
  id: 'reader',
  version,
  lua: `
    local plugin = Plugin:new("reader")
    plugin:onInit(function(config) plugin:upsertObject("seen", config) end)
  `,
  manifest,
})

const environment = { CLOUD_KEY: 'canary', CLOUD_REGION: 'north', PATH: '/canary/bin', HOST_TOKEN: 'canary' }
const config = {
  cloud: { type: 'string', env: 'CLOUD_KEY' },
  path: { type: 'string', env: 'PATH' },
  region: { type: 'string', env: 'CLOUD_REGION', default: 'south' },
}

async function start(
  context: TestContext,
  manifest: Record<string, unknown>,
  options: TestHostOptions = {},
): Promise<TestHost> {
  return await startHostFor(context, { environment, plugins: [reader(manifest)], ...options })
}

const post = (host: TestHost, path: string, body: object) =>
  host.request('POST', `/api/plugins/${path}`, { body })
const install = (host: TestHost) => post(host, 'install', { fullId: '@fixtures/reader' })

/** What the plugin got, once it runs. */
async function seen(host: TestHost): Promise<unknown> {
  await install(host)
  const { body } = await post(host, 'reader/toggle', { enabled: true })
  assert.equal(body.state, 'running', JSON.stringify(body.error))
  const objects = await host.request('GET', '/api/plugins/reader/objects')
  return objects.body.objects.seen
}

test('a plugin with permissions reads only the variables that they list', async (context) => {
  const none = await start(context, { config, permissions: {} })
  assert.deepEqual(await seen(none), { region: 'south' })
  const messages = await logMessages(none, 'reader', '?level=warn')
  assert.equal(messages.length, 3)
  assert.match(
    messages[0] ?? '',
    /^The setting \/config\/cloud counts as not set: .*CLOUD_KEY.*add "CLOUD_KEY" to permissions\.environment/,
  )
  assert.match(messages[1] ?? '', /no plugin may read the environment variable PATH/)

  const some = await start(context, { config, permissions: { environment: ['CLOUD_R*', 'PATH'] } })
  assert.deepEqual(await seen(some), { region: 'north' })
})

test('without permissions the variables of the system and of the host itself stay closed', async (context) => {
  const host = await start(context, { config: { ...config, token: { type: 'string', env: 'HOST_TOKEN' } } })
  assert.deepEqual(await seen(host), { cloud: 'canary', region: 'north' })
})

test('with the setting a plugin reads what the owner names, whatever its manifest says', async (context) => {
  const settings = { pluginEnvironment: ['CLOUD_REGION', 'PATH'] }
  const host = await start(context, { config, permissions: { environment: ['*'] } }, { settings })
  assert.deepEqual(await seen(host), { region: 'north' })
  const closed = await start(context, { config }, { settings: { pluginEnvironment: [] } })
  assert.deepEqual(await seen(closed), { region: 'south' })
})

test('a required setting whose variable may not be read stops the load, and says what would allow it', async (context) => {
  const needed = { cloud: { ...config.cloud, required: true } }
  const host = await start(
    context,
    { config: needed, permissions: {} },
    { settings: { pluginEnvironment: [] } },
  )
  await install(host)
  const checked = await post(host, 'reader/config/check', { config: {} })
  assert.equal(checked.body.valid, false)
  const { body } = await post(host, 'reader/toggle', { enabled: true })
  assert.deepEqual([body.state, body.error.code], ['failed', 'config_invalid'])
  assert.match(body.error.message, /add "CLOUD_KEY" to permissions\.environment .* HOST_PLUGIN_ENVIRONMENT/)
  assert.ok(!JSON.stringify(body).includes('canary'))
  const set = await post(host, 'reader/config', { config: { cloud: 'mine' } })
  assert.equal(set.body.state, 'running')
})

test('an empty name of a variable counts as none', async (context) => {
  const host = await start(context, { config: { name: { type: 'string', env: '', default: 'x' } } })
  assert.deepEqual(await seen(host), { name: 'x' })
  const { body } = await host.request('GET', '/api/plugins/reader')
  assert.equal(body.fields[0].env, null)
})

test('which variables a plugin reads is told before it is installed, in its overview and in the catalog', async (context) => {
  const host = await start(context, { config })
  const checked = await post(host, 'install/check', { fullId: '@fixtures/reader' })
  assert.deepEqual(checked.body.permissionChanges.added, [
    { kind: 'everything', value: '*' },
    { kind: 'environment', value: 'CLOUD_KEY' },
    { kind: 'environment', value: 'CLOUD_REGION' },
  ])
  const refused = [
    {
      key: 'path',
      variable: 'PATH',
      message: "no plugin may read the environment variable PATH, which is the system's or the host's own",
    },
  ]
  const use = { read: ['CLOUD_KEY', 'CLOUD_REGION'], refused }
  assert.deepEqual(checked.body.environment, use)
  const installed = await install(host)
  assert.deepEqual(installed.body.environment, use)
  assert.deepEqual(
    installed.body.fields.map(({ env }: { env: string | null }) => env),
    ['CLOUD_KEY', null, 'CLOUD_REGION'],
  )

  const permissions = { environment: ['CLOUD_*'] }
  const listed = await start(context, { config, permissions })
  const catalog = await listed.request('GET', '/api/catalog')
  assert.deepEqual(catalog.body.plugins[0].permissions, permissions)
})

test('an update that reads one more variable says so, though it may do everything as before', async (context) => {
  const host = await start(context, { config: { region: config.region } })
  await install(host)
  await host.publish([reader({ config }, '2.0.0')])
  const added = [{ kind: 'environment', value: 'CLOUD_KEY' }]
  const checked = await post(host, 'reader/update/check', {})
  assert.deepEqual(checked.body.permissionChanges, { added, removed: [] })
  await post(host, 'reader/update', {})
  const { body } = await host.request('GET', '/api/plugins/reader/history')
  assert.deepEqual(body.events.at(-1).data.permissionsAdded, added)
})

test('a list of variables that is none is refused with its place', async (context) => {
  const host = await start(context, { permissions: { environment: ['A B'] } })
  const { status, body } = await install(host)
  assert.deepEqual(
    [status, body.code, body.errors[0].path],
    [422, 'manifest_invalid', '/permissions/environment/0'],
  )
})

test('a secret that a variable gives is shown in no check before an installation or update, and in no line of the log', async (context) => {
  const lua = `
    local plugin = Plugin:new("reader")
    plugin:onInit(function(config)
      plugin:log("info", "the key is " .. config.cloud)
      plugin:mqttPublish("keys/" .. config.cloud, "x")
    end)
  `
  const permissions = { environment: ['CLOUD_KEY'], mqtt: { publish: ['other/#'] } }
  const secret = { ...config.cloud, secret: true }
  const plain = reader({ config: {}, permissions })
  const host = await startHostFor(context, { environment, plugins: [plain] })
  await install(host)
  await host.publish([{ ...reader({ config: { cloud: secret }, permissions }, '2.0.0'), lua }])
  const update = await post(host, 'reader/update/check', {})
  assert.deepEqual(update.body.config.effective, { cloud: hiddenValue })
  await host.request('DELETE', '/api/plugins/reader')
  const installation = await post(host, 'install/check', { fullId: '@fixtures/reader' })
  assert.deepEqual(installation.body.config.effective, { cloud: hiddenValue })
  await install(host)
  assert.equal((await post(host, 'reader/toggle', { enabled: true })).body.state, 'running')
  const messages = await logMessages(host, 'reader')
  assert.match(messages.join('\n'), /the key is \*\*\*/)
  assert.match(messages.join('\n'), /Refused: .*keys\/\*\*\*/)
  assert.doesNotMatch(messages.join('\n'), /canary/)
})
