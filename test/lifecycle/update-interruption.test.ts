import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { defaultRestartPolicy } from '../../src/lifecycle/loading/restart-policy.ts'
import { command, nextFact, startHostFor, type TestHost } from '../helpers/test-host.ts'
import { clockRepository, serve, startServer } from '../repository/repository-fixture.ts'
import { clock, holdManifest } from './silent-repository.ts'

/** Nobody waits for a repository that has been asked for an update of a plugin, and it waits for nobody. */

/** Ends by itself when somebody sets its control. */
const lua = `local plugin = Plugin:new("clock")
plugin:control("go", function() return 0 end, function() local t = {} while true do t[#t + 1] = {{}, {}} end end)
return plugin`
const tree = (version: string) => clockRepository(version, { files: { 'clock/init.lua': lua } })

/** Restarts at once. */
const hasty = { ...defaultRestartPolicy, firstDelay: 1, longestDelay: 1 }

/** A host with a running plugin, and its repository. */
async function startWith(context: TestContext) {
  const server = await startServer(context, serve(tree('1.0.0')))
  const hostFile = { repositories: [{ name: 'test', url: server.url }] }
  // In a shared worker it would be moved to another one first.
  const settings = { isolation: 'dedicated' } as const
  const host = await startHostFor(context, { clock, hostFile, settings, restartPolicy: hasty })
  await command(host, 'install', { fullId: '@test/clock' })
  await command(host, 'clock/toggle', { enabled: true })
  return { host, server }
}

/** A host with a running plugin, and an update of it whose repository has been asked for a file, and does not answer. */
async function startUpdate(context: TestContext) {
  const { host, server } = await startWith(context)
  const { asked, hungUp, held } = holdManifest(server, serve(tree('2.0.0')))
  const update = host.request('POST', '/api/plugins/clock/update', { body: {} })
  await asked
  return {
    host,
    update,
    hungUp,
    held,
    answer() {
      server.handle = serve(tree('2.0.0'))
      for (const go of held) go()
    },
  }
}

/** A host, and an installation there whose repository has been asked for a file, and does not answer. */
async function startInstallation(context: TestContext) {
  const server = await startServer(context, serve({}))
  const hostFile = { repositories: [{ name: 'test', url: server.url }] }
  const host = await startHostFor(context, { clock, hostFile })
  const { asked, hungUp, held } = holdManifest(server, serve(tree('1.0.0')))
  const installation = host.request('POST', '/api/plugins/install', { body: { fullId: '@test/clock' } })
  await asked
  return { host, installation, hungUp, held }
}

const facts = async (host: TestHost): Promise<string[]> =>
  (await host.request('GET', '/api/plugins/%40test%2Fclock/history')).body.events.map(
    ({ type }: { type: string }) => type,
  )

test('a plugin is switched off at once while the repository does not answer an update, which is refused', async (context) => {
  const { host, update, answer } = await startUpdate(context)
  const off = await command(host, 'clock/toggle', { enabled: false })
  assert.deepEqual([off.enabled, off.state, off.version], [false, 'unloaded', '1.0.0'])
  const refused = await update
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
  assert.match(refused.body.detail, /@test\/clock was not updated: .*interrupted by toggle \(http\)/)
  answer()
  const updated = await command(host, 'clock/update', {})
  assert.deepEqual([updated.version, updated.state], ['2.0.0', 'unloaded'])
})

test('an update that was interrupted asks its repository for nothing any more', async (context) => {
  const { host, update, hungUp } = await startUpdate(context)
  await command(host, 'clock/toggle', { enabled: false })
  assert.equal((await update).status, 409)
  await hungUp
})

test('an update that was interrupted before it had the index of its repository fetches no file afterwards', async (context) => {
  const { host, server } = await startWith(context)
  const served = serve(tree('2.0.0'))
  let answer: (() => void) | undefined
  const asked = new Promise<void>((resolve) => {
    server.handle = (request, response) => {
      answer = () => served(request, response)
      resolve()
    }
  })
  const update = host.request('POST', '/api/plugins/clock/update', { body: {} })
  await asked
  await command(host, 'clock/toggle', { enabled: false })
  assert.equal((await update).status, 409)
  server.handle = served
  server.requests.length = 0
  answer?.()
  assert.equal((await command(host, 'clock/update', {})).version, '2.0.0')
  const fetched = server.requests.filter(({ path }) => path === '/clock/plugin.json')
  assert.equal(fetched.length, 1)
})

test('a load that was interrupted while files that are missing are fetched asks for nothing any more', async (context) => {
  const { host, server } = await startWith(context)
  await command(host, 'clock/toggle', { enabled: false })
  await rm(join(host.directory, 'plugins', 'test--clock'), { recursive: true })
  const { asked, hungUp } = holdManifest(server, serve(tree('1.0.0')))
  const load = host.request('POST', '/api/plugins/clock/toggle', { body: { enabled: true } })
  await asked
  await command(host, 'clock/toggle', { enabled: false })
  assert.equal((await load).status, 409)
  await hungUp
})

test('a plugin is removed at once while the repository does not answer an update', async (context) => {
  const { host, update } = await startUpdate(context)
  const { status, body } = await host.request('DELETE', '/api/plugins/clock')
  assert.deepEqual([status, body.state], [200, 'uninstalled'])
  const refused = await update
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
  assert.equal((await facts(host)).at(-1), 'PluginUninstalled')
})

test('any other command is carried out while the repository does not answer an update, which comes after it', async (context) => {
  const { host, update, answer } = await startUpdate(context)
  const { config, version } = await command(host, 'clock/config', { config: { city: 'Bonn' } })
  assert.deepEqual([config, version], [{ city: 'Bonn' }, '1.0.0'])
  const reloaded = await command(host, 'clock/reload')
  assert.deepEqual([reloaded.state, reloaded.version], ['running', '1.0.0'])
  answer()
  const { body } = await update
  assert.deepEqual([body.version, body.state, body.config], ['2.0.0', 'running', { city: 'Bonn' }])
})

test('an update for a revision that another command has changed while the repository did not answer is refused', async (context) => {
  const { host, server } = await startWith(context)
  const { asked, held } = holdManifest(server, serve(tree('2.0.0')))
  const { revision } = (await host.request('GET', '/api/plugins/clock')).body
  const headers = { 'if-match': `"${revision}"` }
  const update = host.request('POST', '/api/plugins/clock/update', { body: {}, headers })
  await asked
  await command(host, 'clock/config', { config: { city: 'Bonn' } })
  for (const go of held) go()
  const refused = await update
  assert.deepEqual([refused.status, refused.body.code], [412, 'revision_conflict'])
  assert.equal((await host.request('GET', '/api/plugins/clock')).body.version, '1.0.0')
  assert.deepEqual(await readdir(join(host.directory, 'plugins', '.staging')), [])
})

test('a plugin that crashes while the repository does not answer an update is running again before that', async (context) => {
  const { host, update, answer } = await startUpdate(context)
  const crashed = nextFact(host, 'PluginCrashed')
  const loaded = nextFact(host, 'PluginLoaded')
  void host.request('PUT', '/api/plugins/clock/controls/go', { body: { value: 1 } })
  await crashed
  await loaded
  const { state, version, crashes } = (await host.request('GET', '/api/plugins/clock')).body
  assert.deepEqual([state, version, crashes], ['running', '1.0.0', 1])
  answer()
  assert.deepEqual([(await update).body.version, (await update).body.state], ['2.0.0', 'running'])
})

test('of two updates of a plugin at once the second finds what the first has made of it', async (context) => {
  const { host, update, answer } = await startUpdate(context)
  const second = host.request('POST', '/api/plugins/clock/update', { body: {} })
  answer()
  for (const { status, body } of [await update, await second])
    assert.deepEqual([status, body.version, body.state], [200, '2.0.0', 'running'])
  const updates = (await facts(host)).filter((type) => type === 'PluginUpdated')
  assert.equal(updates.length, 1)
})

test('a rollback that is asked for while the repository does not answer an update goes back to the version before that', async (context) => {
  const { host, update, answer } = await startUpdate(context)
  const rollback = host.request('POST', '/api/plugins/clock/rollback')
  await command(host, 'clock/reload')
  answer()
  assert.equal((await update).body.version, '2.0.0')
  const { status, body } = await rollback
  assert.deepEqual([status, body.version, body.state], [200, '1.0.0', 'running'])
})

test('an update asks anew for a plugin whose version on trial has crashed while its files were fetched', async (context) => {
  const { host, server } = await startWith(context)
  server.handle = serve(tree('2.0.0'))
  await command(host, 'clock/update', {})
  const { asked, held } = holdManifest(server, serve(tree('3.0.0')))
  const update = host.request('POST', '/api/plugins/clock/update', { body: {} })
  await asked
  const loaded = nextFact(host, 'PluginLoaded')
  void host.request('PUT', '/api/plugins/clock/controls/go', { body: { value: 1 } })
  await loaded
  assert.equal((await host.request('GET', '/api/plugins/clock')).body.version, '1.0.0')
  server.handle = serve(tree('4.0.0'))
  for (const go of held) go()
  assert.equal((await update).body.version, '4.0.0')
  const last = (await host.request('GET', '/api/plugins/%40test%2Fclock/history')).body.events.findLast(
    ({ type }: { type: string }) => type === 'PluginUpdated',
  )
  assert.deepEqual([last.data.from, last.data.version], ['1.0.0', '4.0.0'])
})

test('a host stops at once while the repository does not answer an update', async (context) => {
  const { host, update } = await startUpdate(context)
  // It may be cut off with its connection.
  const refused = update.catch(() => undefined)
  await host.host.close()
  assert.equal((await refused)?.body.code ?? 'shutting_down', 'shutting_down')
  assert.deepEqual(await readdir(join(host.directory, 'plugins', '.staging')), [])
})

test('a plugin is removed at once while the repository does not answer its installation, which is refused', async (context) => {
  const { host, installation, hungUp } = await startInstallation(context)
  const removal = await host.request('DELETE', '/api/plugins/%40test%2Fclock')
  assert.deepEqual([removal.status, removal.body.code], [404, 'plugin_not_installed'])
  const refused = await installation
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
  assert.match(refused.body.detail, /@test\/clock was not installed: .*interrupted by uninstall \(http\)/)
  await hungUp
  const { events } = (await host.request('GET', '/api/history')).body
  assert.deepEqual(
    events.filter(({ plugin }: { plugin: string | null }) => plugin !== null),
    [],
  )
})

test('what is asked of a plugin while the repository does not answer its installation is done when it is there', async (context) => {
  const { host, installation, held } = await startInstallation(context)
  const off = host.request('POST', '/api/plugins/%40test%2Fclock/toggle', { body: { enabled: false } })
  const on = host.request('POST', '/api/plugins/%40test%2Fclock/toggle', { body: { enabled: true } })
  await host.request('GET', '/api/plugins')
  for (const go of held) go()
  assert.equal((await installation).status, 201)
  assert.equal((await off).status, 200)
  assert.equal((await on).body.state, 'running')
})

test('a plugin is given up to another host at once while the repository does not answer an update', async (context) => {
  const { host, update } = await startUpdate(context)
  await host.host.lifecycle.handover.giveUp('@test/clock')
  const refused = await update
  assert.deepEqual([refused.status, refused.body.code], [503, 'plugin_moving'])
  assert.match(refused.body.detail, /nothing was changed/)
})

test('a plugin is removed at once while an update waits for a repository to say whether it has the plugin', async (context) => {
  const server = await startServer(context, serve({}))
  const hostFile = {
    repositories: [{ name: 'test', url: server.url }],
    plugins: { installed: [{ id: '@test/clock', enabled: false }] },
  }
  const host = await startHostFor(context, { clock, hostFile })
  const asked = new Promise<void>((resolve) => {
    server.handle = () => resolve()
  })
  const update = host.request('POST', '/api/plugins/clock/update', { body: {} })
  await asked
  const { status, body } = await host.request('DELETE', '/api/plugins/clock')
  assert.deepEqual([status, body.state], [200, 'uninstalled'])
  const refused = await update
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
})
