import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { defaultRepositoryLimits } from '../../src/repository/limits.ts'
import { command, startHostFor, type TestHost } from '../helpers/test-host.ts'
import {
  clockRepository,
  type Handler,
  serve,
  startServer,
  type WebServer,
} from '../repository/repository-fixture.ts'

/** Whoever switches a plugin off or removes it does not wait for a repository that has been asked for an update. */

/** Deadlines of requests to repositories never come. */
const clock: typeof systemClock = {
  ...systemClock,
  schedule: (milliseconds, callback) =>
    milliseconds === defaultRepositoryLimits.requestTime || milliseconds === defaultRepositoryLimits.stageTime
      ? { cancel: () => undefined }
      : systemClock.schedule(milliseconds, callback),
}

const lua = 'return Plugin:new("clock")'
const tree = (version: string) => clockRepository(version, { files: { 'clock/init.lua': lua } })

/** A host with a running plugin, and its repository. */
async function startWith(context: TestContext) {
  const server = await startServer(context, serve(tree('1.0.0')))
  const hostFile = { repositories: [{ name: 'test', url: server.url }] }
  const host = await startHostFor(context, { clock, hostFile })
  await command(host, 'install', { fullId: '@test/clock' })
  await command(host, 'clock/toggle', { enabled: true })
  return { host, server }
}

/** From now on the server answers everything but a question for the plugin's manifest. */
function holdManifest(server: WebServer, answer: Handler) {
  const held: (() => void)[] = []
  let hangUp: (() => void) | undefined
  /** Such a question is over. */
  const hungUp = new Promise<void>((resolve) => (hangUp = resolve))
  const asked = new Promise<void>((resolve) => {
    server.handle = (request, response) => {
      if (request.url !== '/clock/plugin.json') {
        answer(request, response)
        return
      }
      held.push(() => answer(request, response))
      response.once('close', () => hangUp?.())
      resolve()
    }
  })
  return { asked, hungUp, held }
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
    answer() {
      server.handle = serve(tree('2.0.0'))
      for (const go of held) go()
    },
  }
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

test('any other command waits until the update has come', async (context) => {
  const { host, update, answer } = await startUpdate(context)
  const reload = host.request('POST', '/api/plugins/clock/reload')
  await host.request('GET', '/api/plugins')
  answer()
  assert.deepEqual([(await update).body.version, (await reload).body.version], ['2.0.0', '2.0.0'])
})

test('a plugin is given up to another host at once while the repository does not answer an update', async (context) => {
  const { host, update } = await startUpdate(context)
  await host.host.lifecycle.handover.giveUp('@test/clock')
  const refused = await update
  assert.deepEqual([refused.status, refused.body.code], [503, 'plugin_moving'])
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
