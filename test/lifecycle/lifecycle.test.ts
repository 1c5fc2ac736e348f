import assert from 'node:assert/strict'
import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLogger } from '../../src/base/log/log.ts'
import { connect } from '../bus/bus-fixture.ts'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { generousTime } from '../helpers/generous-time.ts'
import {
  command,
  installAndStart,
  logMessages,
  nextFact,
  startHostFor,
  type TestHost,
} from '../helpers/test-host.ts'

async function install(host: TestHost, id: string) {
  return command(host, 'install', { fullId: `@fixtures/${id}` })
}

async function plugin(host: TestHost, id: string) {
  return (await host.request('GET', `/api/plugins/${id}`)).body
}

async function types(host: TestHost, id: string, after = 0): Promise<string[]> {
  const { body } = await host.request('GET', `/api/plugins/@fixtures/${id}/history?after=${after}`)
  return body.events.map(
    (event: { type: string; state: string; by: string }) => `${event.type} ${event.state} ${event.by}`,
  )
}

function lua(id: string, body: string): string {
  return `local p = Plugin:new("${id}")\np:onInit(function(config)\n${body}\nend)\n`
}

const idle = {
  timers: 0,
  pollers: 0,
  eventSubscriptions: 0,
  mqttSubscriptions: 0,
  objects: 0,
  sensors: 0,
  controls: 0,
  throttles: 0,
  httpRequests: 0,
  httpHandlers: 0,
  sockets: 0,
  schedules: 0,
  watches: 0,
  serialPorts: 0,
  discoveries: 0,
}

test('the whole way: install, configure, enable, reconfigure, disable, uninstall, each step a fact', async (context) => {
  const host = await startHostFor(context)
  assert.deepEqual((await install(host, 'demo')).state, 'installed')
  await command(host, 'demo/config', { config: { any: 1 } })
  const running = await command(host, 'demo/toggle')
  assert.deepEqual(
    [running.state, running.enabled, running.resources],
    [
      'running',
      true,
      {
        ...idle,
        timers: 1,
        eventSubscriptions: 1,
        mqttSubscriptions: 1,
        objects: 1,
        sensors: 1,
        controls: 1,
      },
    ],
  )
  await command(host, 'demo/config', { config: { any: 2 } })
  const disabled = await command(host, 'demo/toggle')
  assert.deepEqual([disabled.state, disabled.enabled, disabled.resources], ['unloaded', false, idle])
  const removed = await host.request('DELETE', '/api/plugins/demo')
  assert.deepEqual([removed.status, removed.body], [200, { id: '@fixtures/demo', state: 'uninstalled' }])
  assert.deepEqual(await types(host, 'demo'), [
    'PluginInstallRequested installing http',
    'PluginInstalled installed http',
    'PluginConfigured installed http',
    'PluginEnabled loading http',
    'PluginLoaded running http',
    'PluginConfigured running http',
    'PluginUnloadRequested unloading http',
    'PluginUnloaded unloaded http',
    'PluginLoadRequested loading http',
    'PluginLoaded running http',
    'PluginDisabled unloading http',
    'PluginUnloaded unloaded http',
    'PluginUninstalled uninstalled http',
  ])
  assert.ok((await readdir(join(host.directory, 'plugins'))).includes('fixtures--demo'), 'the files stay')
})

test('delete while running unloads first; a reinstallation starts with an empty config', async (context) => {
  const host = await startHostFor(context)
  await install(host, 'demo')
  await command(host, 'demo/config', { config: { any: 1 } })
  await command(host, 'demo/toggle')
  const before = host.host.lifecycle.lastSeq
  await host.request('DELETE', '/api/plugins/demo?purge=kv,files')
  assert.deepEqual(await types(host, 'demo', before), [
    'PluginUnloadRequested unloading http',
    'PluginUnloaded unloaded http',
    'PluginUninstalled uninstalled http',
  ])
  assert.ok(
    !(await readdir(join(host.directory, 'plugins'))).includes('fixtures--demo'),
    'the files are purged',
  )
  assert.deepEqual((await install(host, 'demo')).config, {})
})

test('a restart loads what is enabled, leaves the rest, and keeps every config', async (context) => {
  const host = await startHostFor(context)
  await install(host, 'hello')
  await install(host, 'demo')
  await command(host, 'hello/config', { config: { name: 'moon', interval: 5 } })
  await command(host, 'hello/toggle')
  const again = await host.restart()
  const found = (await again.request('GET', '/api/plugins')).body.plugins
  assert.deepEqual(
    found.map(({ id, state, config }: { id: string; state: string; config: object }) => [id, state, config]),
    [
      ['@fixtures/demo', 'installed', {}],
      ['@fixtures/hello', 'running', { name: 'moon', interval: 5 }],
    ],
  )
  assert.deepEqual((await types(again, 'hello')).slice(-4), [
    'PluginUnloadRequested unloading shutdown',
    'PluginUnloaded unloaded shutdown',
    'PluginLoadRequested loading startup',
    'PluginLoaded running startup',
  ])
})

const failures: [id: string, code: string, message: RegExp][] = [
  ['faulty', 'lua_error', /init\.lua:\d+: broken on purpose/],
  ['syntax', 'lua_error', /init\.lua:1:/],
  ['needy', 'config_invalid', /\/config\/city/],
  ['dependent', 'dependency_unmet', /@fixtures\/hello/],
]

for (const [id, code, message] of failures) {
  test(`a load that fails answers 200 with the reason and leaves nothing: ${id}`, async (context) => {
    const host = await startHostFor(context)
    if (id === 'dependent') {
      await install(host, 'hello')
      await install(host, id)
      await host.request('DELETE', '/api/plugins/hello')
    } else await install(host, id)
    const failed = await command(host, `${id}/toggle`)
    assert.deepEqual(
      [failed.enabled, failed.state, failed.error.code, failed.resources],
      [true, 'failed', code, idle],
    )
    assert.match(failed.error.message, message)
    assert.deepEqual((await types(host, id)).at(-1), 'PluginLoadFailed failed http')
    const disabled = await command(host, `${id}/toggle`, { enabled: false })
    assert.deepEqual([disabled.state, disabled.error], ['unloaded', null])
  })
}

test('a config that is completed brings a failed plugin up', async (context) => {
  const host = await startHostFor(context)
  await installAndStart(host, 'needy')
  const running = await command(host, 'needy/config', { config: { city: 'Bern' } })
  assert.deepEqual([running.state, running.error], ['running', null])
  const refused = await host.request('POST', '/api/plugins/needy/config', { body: { config: { mode: 'z' } } })
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.errors.map(({ path }: { path: string }) => path).sort()],
    [422, 'config_invalid', ['/config/city', '/config/mode']],
  )
  assert.deepEqual((await plugin(host, 'needy')).config, { city: 'Bern' })
})

test('a disabled plugin may be configured bit by bit, but not with wrong values', async (context) => {
  const host = await startHostFor(context)
  await install(host, 'needy')
  assert.equal((await command(host, 'needy/config', { config: {} })).state, 'installed')
  const refused = await host.request('POST', '/api/plugins/needy/config', { body: { config: { city: 1 } } })
  assert.equal(refused.body.code, 'config_invalid')
})

test('a secret is hidden everywhere, kept when its placeholder comes back, and on disk for the owner alone', async (context) => {
  const host = await startHostFor(context)
  await install(host, 'hello')
  await command(host, 'hello/config', { config: { apiKey: 'canary-1', name: 'a' } })
  assert.equal((await plugin(host, 'hello')).config.apiKey, '********')
  await command(host, 'hello/config', { config: { apiKey: '********', name: 'b' } })
  const file = JSON.parse(await readFile(join(host.directory, '.host.json'), 'utf8'))
  assert.deepEqual(file.plugins.installed[0].config, { apiKey: 'canary-1', name: 'b' })
  const history = JSON.stringify((await host.request('GET', '/api/history')).body)
  assert.ok(history.includes('PluginConfigured') && !history.includes('canary-1'))
  await rm(join(host.directory, 'plugins', 'fixtures--hello'), { recursive: true })
  const again = await host.restart()
  const shown = await plugin(again, 'hello')
  assert.deepEqual(
    shown.config,
    { apiKey: '********', name: '********' },
    'without a manifest nothing is known',
  )
})

test('an update that runs is kept, and a rollback returns to the version before with its config', async (context) => {
  const host = await startHostFor(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await installAndStart(host, 'x')
  await command(host, 'x/config', { config: { a: 1 } })
  await host.publish([{ id: 'x', version: '1.1.0', lua: lua('x', 'p:log("info", "fresh")') }])
  const updated = await command(host, 'x/update', {})
  assert.deepEqual([updated.version, updated.state, updated.config], ['1.1.0', 'running', { a: 1 }])
  await command(host, 'x/config', { config: { a: 2 } })
  const back = await command(host, 'x/rollback')
  assert.deepEqual([back.version, back.state, back.config], ['1.0.0', 'running', { a: 1 }])
  assert.doesNotMatch(
    await readFile(join(host.directory, 'plugins', 'fixtures--x', 'init.lua'), 'utf8'),
    /fresh/,
  )
})

test('an update that does not run goes back by itself, to the files and the config before', async (context) => {
  const host = await startHostFor(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await install(host, 'x')
  await command(host, 'x/config', { config: { a: 1 } })
  await command(host, 'x/toggle')
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', 'error("worse")') }])
  const before = host.host.lifecycle.lastSeq
  const after = await command(host, 'x/update', {})
  assert.deepEqual(
    [after.version, after.state, after.config, after.error],
    ['1.0.0', 'running', { a: 1 }, null],
  )
  assert.deepEqual(await types(host, 'x', before), [
    'PluginUnloadRequested unloading http',
    'PluginUnloaded unloaded http',
    'PluginUpdated unloaded http',
    'PluginLoadRequested loading http',
    'PluginLoadFailed failed http',
    'PluginRolledBack failed supervisor',
    'PluginLoadRequested loading supervisor',
    'PluginLoaded running supervisor',
  ])
})

test('the history tells from which version to which a plugin went', async (context) => {
  const host = await startHostFor(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await installAndStart(host, 'x')
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', '') }])
  await command(host, 'x/update', {})
  await command(host, 'x/rollback')
  await host.publish([{ id: 'x', version: '3.0.0', lua: lua('x', 'error("worse")') }])
  await command(host, 'x/update', {})
  const { events } = (await host.request('GET', '/api/plugins/x/history')).body
  assert.deepEqual(
    events
      .filter(({ type }: any) => ['PluginUpdated', 'PluginRolledBack'].includes(type))
      .map(({ type, data }: any) => `${type} ${data.from} ${data.version}`),
    [
      'PluginUpdated 1.0.0 2.0.0',
      'PluginRolledBack 2.0.0 1.0.0',
      'PluginUpdated 1.0.0 3.0.0',
      'PluginRolledBack 3.0.0 1.0.0',
    ],
  )
})

test('the answer and the log tell why an update did not stay, also when its settings do not fit', async (context) => {
  const host = await startHostFor(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await installAndStart(host, 'x')
  const configSchema = [{ key: 'address', label: 'Address of the boiler', required: true }]
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', ''), manifest: { configSchema } }])
  const updated = await command(host, 'x/update', {})
  assert.deepEqual(
    [updated.version, updated.failedUpdate],
    [
      '1.0.0',
      {
        version: '2.0.0',
        code: 'config_invalid',
        message:
          'The configuration of @fixtures/x cannot be used: Address of the boiler (/config/address) is required. Save its configuration with that first, and update then; or switch it off, update, and set it.',
      },
    ],
  )
  const { logs } = (await host.request('GET', '/api/plugins/x/logs?level=warn')).body
  assert.deepEqual(
    logs.map(({ level, message }: Record<string, string>) => `${level} ${message}`),
    [
      'error The plugin could not be loaded: The configuration of @fixtures/x cannot be used: Address of the boiler (/config/address) is required.',
      'warn The update to 2.0.0 does not run, so 1.0.0 returns',
    ],
  )
  await command(host, 'x/config', { config: { address: '192.168.1.20' } })
  const again = await command(host, 'x/update', {})
  assert.deepEqual([again.version, again.state, again.failedUpdate], ['2.0.0', 'running', undefined])
})

test('the log of the host tells once that a plugin did not load, and that an update did not stay', async (context) => {
  const lines: string[] = []
  const keep = (message: string): void => void lines.push(message.split('\n')[0] ?? '')
  const logger = { ...silentLogger, warn: keep, error: keep }
  const host = await startHostFor(context, { logger, plugins: [{ id: 'x', lua: lua('x', '') }] })
  await installAndStart(host, 'x')
  lines.length = 0
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', 'error("worse", 0)') }])
  await command(host, 'x/update', {})
  const configSchema = [{ key: 'address', label: 'Address', required: true }]
  await host.publish([{ id: 'x', version: '3.0.0', lua: lua('x', ''), manifest: { configSchema } }])
  await command(host, 'x/update', {})
  assert.deepEqual(lines, [
    'The plugin could not be loaded: worse',
    'The update to 2.0.0 does not run, so 1.0.0 returns',
    'The plugin could not be loaded: The configuration of @fixtures/x cannot be used: Address (/config/address) is required.',
    'The update to 3.0.0 does not run, so 1.0.0 returns',
  ])
})

test('the log of a plugin tells an update to other files of the same version from one to another version', async (context) => {
  const host = await startHostFor(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await installAndStart(host, 'x')
  await host.publish([{ id: 'x', lua: lua('x', 'error("worse")') }])
  assert.equal((await command(host, 'x/update', {})).state, 'running')
  assert.deepEqual((await logMessages(host, '@fixtures/x', '?level=warn')).slice(-1), [
    'The update to other files of 1.0.0 does not run, so the former ones return',
  ])
})

test('a rollback that names no version does not go to one that did not run', async (context) => {
  const host = await startHostFor(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await installAndStart(host, 'x')
  const update = async (version: string, body: string): Promise<void> => {
    await host.publish([{ id: 'x', version, lua: lua('x', body) }])
    await command(host, 'x/update', {})
  }
  await update('2.0.0', 'error("worse")')
  const refused = await host.request('POST', '/api/plugins/x/rollback')
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
  assert.match(refused.body.detail, /2\.0\.0/)
  await update('1.1.0', '')
  await update('2.0.1', 'error("no better")')
  const again = await host.restart()
  context.after(() => again.close())
  const { versions } = (await again.request('GET', '/api/plugins/x/versions')).body
  assert.deepEqual(
    versions.map((entry: any) => [entry.version, entry.failed]),
    [
      ['1.1.0', undefined],
      ['2.0.1', true],
      ['1.0.0', undefined],
      ['2.0.0', true],
    ],
  )
  assert.equal((await command(again, 'x/rollback')).version, '1.0.0')
  // Who names it gets it, on a trial like any other.
  const named = await again.request('POST', '/api/plugins/x/rollback', { body: { version: '2.0.1' } })
  assert.deepEqual([named.status, named.body.version], [200, '2.0.1'])
})

test('of two kept versions of one name a rollback means the one that ran', async (context) => {
  const host = await startHostFor(context, { plugins: [{ id: 'x', lua: lua('x', '-- it runs') }] })
  await installAndStart(host, 'x')
  const updates: [string, string][] = [
    ['1.1.0', ''],
    ['1.0.0', 'error("published anew")'],
  ]
  for (const [version, body] of updates) {
    await host.publish([{ id: 'x', version, lua: lua('x', body) }])
    assert.equal((await command(host, 'x/update', {})).version, '1.1.0')
  }
  const back = await command(host, 'x/rollback')
  assert.deepEqual([back.version, back.state], ['1.0.0', 'running'])
  assert.match(await readFile(join(host.directory, 'plugins', 'fixtures--x', 'init.lua'), 'utf8'), /it runs/)
})

test('a rollback without an update before it is refused', async (context) => {
  const host = await startHostFor(context)
  await install(host, 'hello')
  const refused = await host.request('POST', '/api/plugins/hello/rollback')
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
})

test('a plugin whose worker dies is a fact, is cleaned up, and starts again', async (context) => {
  const bomb =
    'p:upsertObject("x", {a = 1})\np:control("go", function() return 0 end, function() local t = {} while true do t[#t + 1] = {{}, {}} end end)'
  const host = await startHostFor(context, {
    plugins: [{ id: 'x', lua: lua('x', bomb) }],
    limits: generousTime,
    // In a shared one it would be moved first.
    settings: { isolation: 'dedicated' },
  })
  await installAndStart(host, 'x')
  const crashed = nextFact(host, 'PluginCrashed')
  const back = nextFact(host, 'PluginLoaded')
  void host.request('PUT', '/api/plugins/x/controls/go', { body: { value: 1 } }).catch(() => undefined)
  await crashed
  assert.deepEqual((await plugin(host, 'x')).resources, idle)
  await back
  assert.equal((await plugin(host, 'x')).state, 'running')
  const story = (await types(host, 'x')).slice(-3)
  assert.deepEqual(story, [
    'PluginCrashed failed supervisor',
    'PluginLoadRequested loading supervisor',
    'PluginLoaded running supervisor',
  ])
})

test('dependencies load first, whatever their names, and a start says which are missing', async (context) => {
  const order: FixturePlugin[] = [
    { id: 'a', lua: lua('a', ''), manifest: { dependencies: ['@fixtures/b'] } },
    { id: 'b', lua: lua('b', ''), manifest: { dependencies: [{ id: '@fixtures/c', version: '^1.0.0' }] } },
    { id: 'c', lua: lua('c', '') },
  ]
  const host = await startHostFor(context, { plugins: order })
  const refused = await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/a' } })
  assert.equal(refused.body.code, 'dependency_unmet')
  for (const id of ['c', 'b', 'a']) {
    await install(host, id)
    await command(host, `${id}/toggle`)
  }
  const before = host.host.lifecycle.lastSeq
  const again = await host.restart()
  const { events } = (await again.request('GET', `/api/history?after=${before}`)).body
  const of = (type: string): string[] =>
    events.flatMap((entry: { type: string; plugin: string }) =>
      entry.type === type ? [entry.plugin.slice(-1)] : [],
    )
  assert.deepEqual(
    [of('PluginUnloaded'), of('PluginLoaded')],
    [
      ['a', 'b', 'c'],
      ['c', 'b', 'a'],
    ],
  )
})

test('edits of .host.json made while the host was stopped become facts by file', async (context) => {
  const host = await startHostFor(context)
  await install(host, 'hello')
  await installAndStart(host, 'demo')
  await host.host.close()
  const path = join(host.directory, '.host.json')
  const file = JSON.parse(await readFile(path, 'utf8'))
  const hello = file.plugins.installed.find(({ id }: { id: string }) => id === '@fixtures/hello')
  hello.config = { name: 'by hand' }
  hello.enabled = true
  file.plugins.installed = [hello, { id: '@fixtures/needy', enabled: true, config: { city: 'Bern' } }]
  await writeFile(path, JSON.stringify(file))
  const again = await host.restart()
  const found = (await again.request('GET', '/api/plugins')).body.plugins
  assert.deepEqual(
    found.map(({ id, state, config }: { id: string; state: string; config: object }) => [id, state, config]),
    [
      ['@fixtures/hello', 'running', { name: 'by hand' }],
      ['@fixtures/needy', 'running', { city: 'Bern' }],
    ],
  )
  assert.deepEqual((await types(again, 'demo')).at(-1), 'PluginUninstalled uninstalled file')
  assert.deepEqual((await types(again, 'needy')).slice(0, 4), [
    'PluginInstallRequested installing file',
    'PluginInstalled installed file',
    'PluginConfigured installed file',
    'PluginEnabled loading file',
  ])
})

test('a placeholder that somebody has copied into .host.json keeps the secret for which it stands', async (context) => {
  const host = await startHostFor(context)
  await install(host, 'hello')
  await command(host, 'hello/config', { config: { apiKey: 'canary-1', name: 'a' } })
  await host.host.close()
  const path = join(host.directory, '.host.json')
  const stored = async () => JSON.parse(await readFile(path, 'utf8')).plugins.installed[0].config
  const edit = async (config: object): Promise<void> => {
    const file = JSON.parse(await readFile(path, 'utf8'))
    file.plugins.installed[0].config = config
    await writeFile(path, JSON.stringify(file))
  }
  await edit({ apiKey: '********', name: 'b' })
  const again = await host.restart()
  assert.deepEqual(await stored(), { apiKey: 'canary-1', name: 'b' })
  await again.host.close()
  await edit({ apiKey: '********', name: 'b' })
  const last = await host.restart()
  assert.deepEqual(await stored(), { apiKey: 'canary-1', name: 'b' })
  const configured = (await types(last, 'hello')).filter((line) => line.startsWith('PluginConfigured'))
  assert.equal(configured.length, 2, 'what says nothing new is no fact')
})

test('a folder that somebody deleted is fetched again when the plugin is loaded', async (context) => {
  const host = await startHostFor(context)
  await installAndStart(host, 'hello')
  await rm(join(host.directory, 'plugins'), { recursive: true })
  assert.equal((await command(host, 'hello/reload')).state, 'running')
})

test('an update that changes nothing but the version of the index ends the hint at it, and nothing is reloaded', async (context) => {
  const host = await startHostFor(context)
  await installAndStart(host, 'hello')
  const { revision } = await plugin(host, 'hello')
  const path = join(host.repository, 'plugins.json')
  const index = JSON.parse(await readFile(path, 'utf8'))
  for (const entry of index.plugins) if (entry.id === 'hello') entry.version = '1.2.0'
  await writeFile(path, JSON.stringify(index))
  const offer = async () =>
    (await host.request('GET', '/api/catalog?q=hello')).body.plugins.map(
      ({ installedVersion, updateAvailable }: Record<string, unknown>) => [installedVersion, updateAvailable],
    )
  const updated = await command(host, 'hello/update')
  assert.deepEqual([updated.version, updated.state, updated.revision], ['1.0.0', 'running', revision])
  assert.deepEqual((await types(host, 'hello')).at(-1), 'PluginVersionConfirmed running http')
  assert.deepEqual(await offer(), [['1.0.0', false]])
  await command(host, 'hello/update')
  assert.deepEqual((await types(host, 'hello')).slice(-2), [
    'PluginLoaded running http',
    'PluginVersionConfirmed running http',
  ])
})

test('files that changed since the installation are told in the log, and the plugin runs', async (context) => {
  const warnings: string[] = []
  const logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message: string) => void warnings.push(message),
    error: () => undefined,
  }
  const host = await startHostFor(context, { logger })
  await install(host, 'hello')
  await appendFile(join(host.directory, 'plugins', 'fixtures--hello', 'init.lua'), '\n-- changed\n')
  assert.equal((await command(host, 'hello/toggle')).state, 'running')
  assert.deepEqual(
    warnings.filter((message) => message.startsWith('Files of a plugin')),
    ['Files of a plugin have changed since it was installed'],
  )
})

test('commands for one plugin run one after another, and for several side by side', async (context) => {
  const host = await startHostFor(context)
  await installAndStart(host, 'hello')
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => command(host, 'hello/config', { config: { index } })),
  )
  assert.deepEqual(
    answers.map(({ state, config }) => [state, config.index]),
    Array.from({ length: 10 }, (_, index) => ['running', index]),
  )
  assert.equal((await types(host, 'hello')).at(-1), 'PluginLoaded running http')
})

test('nothing retained of a plugin is left after it was disabled', async (context) => {
  const host = await startHostFor(context)
  await installAndStart(host, 'demo')
  await command(host, 'demo/toggle')
  const client = await connect(context, host.mqttUrl)
  const retained: string[] = []
  client.on('message', (topic) => void retained.push(topic))
  await client.subscribeAsync('host/#')
  // The answer to a request comes after everything that was retained.
  const answered = new Promise<void>((resolve) => {
    client.on('message', (topic) => topic === 'host/response/list' && resolve())
  })
  await client.publishAsync('host/request/list', '{}')
  await answered
  assert.deepEqual(
    retained.filter((topic) => topic.startsWith('host/plugins/')),
    ['host/plugins/@fixtures/demo/state'],
  )
})
