import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { identifierOf } from '../../../src/schema/names/identifier.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { generousTime } from '../../helpers/generous-time.ts'
import { holdReconciler } from '../../helpers/held-reconciler.ts'
import { logMessages, openTestHost, startHostFor, type TestHost } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'

/** Plugins that could not be loaded without another one, once that is there. */

const plugin = (id: string, dependencies: unknown[] = [], version = '1.0.0'): FixturePlugin => ({
  id,
  version,
  lua: `local p = Plugin:new("${id}")\nreturn p`,
  manifest: { dependencies },
})

const onBase = plugin('above', ['@fixtures/base@^1.0.0'])

async function start(context: TestContext, plugins: FixturePlugin[]): Promise<TestHost> {
  return await startHostFor(context, { plugins, limits: generousTime })
}

async function command(host: TestHost, method: string, path: string, body?: object) {
  const answer = await host.request(method, `/api/plugins/${path}`, { body })
  assert.ok(answer.status < 300, JSON.stringify(answer.body))
  return answer.body
}

async function run(host: TestHost, ...ids: string[]): Promise<void> {
  for (const id of ids) {
    await command(host, 'POST', 'install', { fullId: `@fixtures/${id}` })
    await command(host, 'POST', `${id}/toggle`, { enabled: true })
  }
}

const view = async (host: TestHost, id: string) =>
  (await host.request('GET', `/api/plugins/${id}`)).body as {
    state: string
    error: { code: string; message: string } | null
  }

const untilRunning = (host: TestHost, id: string): Promise<unknown> =>
  until(`${id} to run`, async () => (await view(host, id)).state === 'running')

/** What has been written down after `after`: type, plugin, by, and the reason if there is one. */
async function facts(host: TestHost, after: number): Promise<string[]> {
  const { events } = (await host.request('GET', `/api/history?after=${after}&limit=1000`)).body
  return events
    .filter(({ plugin: id }: { plugin: string | null }) => id !== null)
    .map(({ type, plugin: id, by, data }: Record<string, any>) =>
      [type, identifierOf(id).shortId, by, data.reason].filter((part) => part !== undefined).join(' '),
    )
}

async function fail(host: TestHost, id: string): Promise<void> {
  const failed = await command(host, 'POST', `${id}/reload`)
  assert.deepEqual([failed.state, failed.error.code], ['failed', 'dependency_unmet'])
}

/** A host with an update on trial, configured since, whose dependency is gone, after a restart. */
async function restartWithout(context: TestContext, before: FixturePlugin): Promise<TestHost> {
  const host = await start(context, [plugin('base'), before])
  await run(host, 'base', 'above')
  await command(host, 'POST', 'above/config', { config: { n: 1 } })
  await host.publish([plugin('base'), plugin('above', ['@fixtures/base@^1.0.0'], '2.0.0')])
  const updated = await command(host, 'POST', 'above/update', {})
  assert.deepEqual([updated.version, updated.state, updated.trial.from], ['2.0.0', 'running', '1.0.0'])
  await command(host, 'POST', 'above/config', { config: { n: 2 } })
  await command(host, 'DELETE', 'base')
  return host.restart()
}

test('an update stays, with its settings, where the version before would not run for want of the same plugin either', async (context) => {
  const host = await restartWithout(context, onBase)
  const shown = await command(host, 'GET', 'above')
  assert.deepEqual(
    [shown.version, shown.config, shown.state, shown.error.code],
    ['2.0.0', { n: 2 }, 'failed', 'dependency_unmet'],
  )
  await command(host, 'POST', 'install', { fullId: '@fixtures/base' })
  await untilRunning(host, 'above')
  const back = await command(host, 'GET', 'above')
  assert.deepEqual([back.version, back.config, back.trial.from], ['2.0.0', { n: 2 }, '1.0.0'])
})

test('an update that wants a plugin that is gone is taken back where the version before runs without', async (context) => {
  const host = await restartWithout(context, plugin('above'))
  const { version, config, state } = await command(host, 'GET', 'above')
  assert.deepEqual([version, config, state], ['1.0.0', { n: 1 }, 'running'])
})

test('a plugin whose dependency was removed is loaded when that is installed again, and the reason is written down', async (context) => {
  const host = await start(context, [plugin('base'), onBase])
  await run(host, 'base', 'above')
  await command(host, 'DELETE', 'base')
  await fail(host, 'above')
  const before = host.host.lifecycle.lastSeq
  await command(host, 'POST', 'install', { fullId: '@fixtures/base' })
  await untilRunning(host, 'above')
  assert.deepEqual(await facts(host, before), [
    'PluginInstallRequested base http',
    'PluginInstalled base http',
    'PluginLoadRequested above supervisor @fixtures/base has come or changed',
    'PluginLoaded above supervisor',
  ])
})

test('a dependency that gets a version which fits, by an update or by going back, brings its dependent up', async (context) => {
  const host = await start(context, [plugin('base'), onBase])
  await run(host, 'base', 'above')
  await host.publish([plugin('base', [], '2.0.0'), onBase])
  await command(host, 'POST', 'base/update', {})
  await fail(host, 'above')
  await command(host, 'POST', 'base/rollback')
  await untilRunning(host, 'above')
  await command(host, 'POST', 'base/update', {})
  await fail(host, 'above')
  await host.publish([plugin('base', [], '1.5.0'), onBase])
  await command(host, 'POST', 'base/update', {})
  await untilRunning(host, 'above')
})

test('several that wait for one plugin are loaded in the order of their dependencies', async (context) => {
  const chain = [
    plugin('c'),
    plugin('b', ['@fixtures/c']),
    plugin('a', ['@fixtures/b', '@fixtures/c']),
    plugin('z', ['@fixtures/a', '@fixtures/c']),
  ]
  const host = await start(context, chain)
  await run(host, 'c', 'b', 'a', 'z')
  await command(host, 'DELETE', 'c')
  for (const id of ['z', 'a', 'b']) await fail(host, id)
  const before = host.host.lifecycle.lastSeq
  await command(host, 'POST', 'install', { fullId: '@fixtures/c' })
  for (const id of ['a', 'b', 'z']) await untilRunning(host, id)
  const loaded = (await facts(host, before)).filter((line) => line.startsWith('PluginLoaded'))
  assert.deepEqual(
    loaded,
    ['b', 'a', 'z'].map((id) => `PluginLoaded ${id} supervisor`),
  )
})

test('a plugin that needs one more says which, and is not tried again before that comes', async (context) => {
  const both = plugin('above', ['@fixtures/base', '@fixtures/other'])
  const host = await start(context, [plugin('base'), plugin('other'), both])
  await run(host, 'base', 'other', 'above')
  await command(host, 'DELETE', 'base')
  await command(host, 'DELETE', 'other')
  await fail(host, 'above')
  await run(host, 'base')
  await until(
    'the reason to be the present one',
    async () =>
      (await view(host, 'above')).error?.message ===
      '@fixtures/above needs @fixtures/other, which is not installed; install it first.',
  )
  const before = host.host.lifecycle.lastSeq
  await command(host, 'POST', 'base/reload')
  // Its own turn, which comes after whatever the reload might have set off.
  await command(host, 'POST', 'above/config', { config: {} })
  await command(host, 'POST', 'install', { fullId: '@fixtures/other' })
  await untilRunning(host, 'above')
  const tried = (await facts(host, before)).filter((line) => line.startsWith('PluginLoadRequested above'))
  assert.deepEqual(tried, [
    'PluginLoadRequested above http config',
    'PluginLoadRequested above supervisor @fixtures/other has come or changed',
  ])
})

test('a plugin that is switched off, or that safe mode holds back, is not loaded because its dependency comes', async (context) => {
  const host = await start(context, [plugin('base'), onBase, plugin('off', ['@fixtures/base'])])
  await run(host, 'base', 'above', 'off')
  await command(host, 'DELETE', 'base')
  await fail(host, 'above')
  await fail(host, 'off')
  await command(host, 'POST', 'off/toggle', { enabled: false })
  await host.host.close()
  const safe = await openTestHost(host.directory, host.repository, { settings: { safeMode: true } })
  context.after(() => safe.close())
  const before = safe.host.lifecycle.lastSeq
  await command(safe, 'POST', 'install', { fullId: '@fixtures/base' })
  // Both have a turn after whatever the installation might have set off.
  for (const id of ['above', 'off']) await command(safe, 'POST', `${id}/config`, { config: { a: 1 } })
  const left = await safe.request('POST', '/api/system/safe-mode', { body: { enabled: false } })
  assert.equal(left.status, 200, JSON.stringify(left.body))
  await untilRunning(safe, 'above')
  assert.deepEqual(
    (await facts(safe, before)).filter((line) => /^PluginLoad.* (above|off) /.test(line)),
    ['PluginLoadRequested above http safe mode left', 'PluginLoaded above http'],
  )
  assert.equal((await view(safe, 'off')).state, 'unloaded')
})

test('a dependency that somebody has set right by hand brings its dependent up when it is loaded', async (context) => {
  const host = await start(context, [plugin('base'), onBase])
  await run(host, 'base', 'above')
  const path = join(host.directory, 'plugins', 'fixtures--base', 'plugin.json')
  const written = await readFile(path, 'utf8')
  await writeFile(path, written.replace('1.0.0', '2.0.0'))
  await command(host, 'POST', 'base/reload')
  await fail(host, 'above')
  await writeFile(path, written)
  await command(host, 'POST', 'base/reload')
  await untilRunning(host, 'above')
})

test('a load that cannot be written down when the dependency comes is made up for', async (context) => {
  let isFull = false
  const files = failingFileSystem(
    (operation, path) =>
      isFull && ['write', 'datasync'].includes(operation) && path.endsWith('.host.journal'),
  )
  const { clock, logger, goOn, says } = holdReconciler()
  const host = await startHostFor(context, {
    ...{ files, clock, logger, limits: generousTime },
    plugins: [plugin('base'), onBase],
  })
  await run(host, 'base', 'above')
  await command(host, 'DELETE', 'base')
  await fail(host, 'above')
  host.host.lifecycle.subscribe((announcement) => {
    if (announcement.kind === 'lifecycle' && announcement.event.type === 'PluginInstalled') isFull = true
  })
  await command(host, 'POST', 'install', { fullId: '@fixtures/base' })
  await says('A plugin could not be loaded after what it needs')
  assert.equal((await view(host, 'above')).state, 'failed')
  isFull = false
  goOn()
  await untilRunning(host, 'above')
})

test('a plugin that runs on without what it needs has in its log that it cannot be loaded again, and what to do', async (context) => {
  const host = await start(context, [plugin('base'), onBase, plugin('other')])
  await run(host, 'base', 'above', 'other')
  const warnings = (id: string): Promise<string[]> => logMessages(host, id, '?level=warn')
  await host.publish([plugin('base', [], '2.0.0'), onBase, plugin('other')])
  await command(host, 'POST', 'base/update', {})
  await until('the first warning', async () => (await warnings('above')).length === 1)
  await command(host, 'POST', 'base/rollback')
  await command(host, 'DELETE', 'base')
  await until('the second warning', async () => (await warnings('above')).length === 2)
  assert.deepEqual(await warnings('above'), [
    'It runs on, but cannot be loaded again as it is: @fixtures/above needs @fixtures/base ^1.0.0, but 2.0.0 is installed; update or roll back @fixtures/base.',
    'It runs on, but cannot be loaded again as it is: @fixtures/above needs @fixtures/base ^1.0.0, which is not installed; install it first.',
  ])
  assert.deepEqual([(await view(host, 'above')).state, await warnings('other')], ['running', []])
})
