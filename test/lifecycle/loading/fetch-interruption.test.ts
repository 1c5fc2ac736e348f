import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { command, logMessages, nextFact, startHostFor, type TestHost } from '../../helpers/test-host.ts'
import { clockRepository, serve, startServer } from '../../repository/repository-fixture.ts'
import { reconcileDelay } from '../../../src/lifecycle/supervision/reconciler.ts'
import { clock, holdManifest } from '../silent-repository.ts'

/** A load that waits for a repository, as the plugin's files are missing, keeps no other command of that plugin waiting. */

const tree = (version: string) =>
  clockRepository(version, { files: { 'clock/init.lua': 'return Plugin:new("clock")' } })

/** What is left undone for a plugin is done at once. */
const hasty: typeof clock = {
  ...clock,
  schedule: (milliseconds, callback) =>
    clock.schedule(milliseconds === reconcileDelay ? 0 : milliseconds, callback),
}

/** A host with a plugin whose files are gone, and a load of it whose repository has been asked for one, and does not answer. */
async function startLoad(context: TestContext, chosenClock = clock) {
  const server = await startServer(context, serve(tree('1.0.0')))
  const hostFile = { repositories: [{ name: 'test', url: server.url }] }
  const host = await startHostFor(context, { clock: chosenClock, hostFile })
  await command(host, 'install', { fullId: '@test/clock' })
  server.handle = serve(tree('2.0.0'))
  await command(host, 'clock/update')
  await rm(join(host.directory, 'plugins', 'test--clock'), { recursive: true })
  const { asked, hungUp } = holdManifest(server, serve(tree('2.0.0')))
  const load = host.request('POST', '/api/plugins/clock/toggle', { body: { enabled: true } })
  await asked
  const { revision } = (await host.request('GET', '/api/plugins/clock')).body
  return {
    ...{ host, server, load, hungUp },
    headers: { 'if-match': `"${revision}"` },
    /** From now on the repository answers; the question from before stays without an answer. */
    answerNext: () => void (server.handle = serve(tree('2.0.0'))),
  }
}

async function facts(host: TestHost): Promise<[type: string, reason: string | undefined][]> {
  const { events } = (await host.request('GET', '/api/plugins/%40test%2Fclock/history')).body as {
    events: { type: string; data: { reason?: string } }[]
  }
  return events.map(({ type, data }) => [type, data.reason])
}

const view = ({ version, state, enabled, config, limits }: any) => ({
  ...{ version, state, enabled, config, memory: limits.set.memory },
})
const unchanged = { version: '2.0.0', state: 'running', enabled: true, config: {}, memory: undefined }

const commands = [
  {
    name: 'configure',
    ask: ['POST', 'config', { config: { city: 'Bonn' } }],
    then: { config: { city: 'Bonn' } },
  },
  { name: 'limits', ask: ['PUT', 'limits', { limits: { memory: 64 } }], then: { memory: 64 } },
  { name: 'reload', ask: ['POST', 'reload', undefined], then: {} },
  { name: 'update', ask: ['POST', 'update', {}], then: {} },
  { name: 'rollback', ask: ['POST', 'rollback', {}], then: { version: '1.0.0' } },
] as const

for (const { name, ask, then } of commands) {
  test(`${name} does not wait for a load whose repository does not answer, and loads the plugin itself`, async (context) => {
    const { host, load, hungUp, headers, answerNext } = await startLoad(context)
    answerNext()
    const [method, path, body] = ask
    const answer = await host.request(method, `/api/plugins/clock/${path}`, { body, headers })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const first = await load
    // What was asked for is done: it is switched on, and loaded by the command.
    assert.deepEqual([first.status, first.body.enabled], [200, true])
    await hungUp
    assert.deepEqual(view(answer.body), { ...unchanged, ...then })
    const list = await facts(host)
    const reason = `interrupted by ${name} (http)`
    assert.deepEqual(
      list.find(([type, given]) => type === 'PluginUnloaded' && given !== undefined),
      ['PluginUnloaded', reason],
    )
    assert.equal(list.at(-1)?.[0], 'PluginLoaded')
  })
}

test('a command for a former revision does not end a load whose repository does not answer', async (context) => {
  const { host } = await startLoad(context)
  const headers = { 'if-match': '"1"' }
  const refused = await host.request('POST', '/api/plugins/clock/reload', { headers })
  assert.deepEqual([refused.status, refused.body.code], [412, 'revision_conflict'])
  assert.equal((await host.request('GET', '/api/plugins/clock')).body.state, 'loading')
})

test('a plugin is loaded anew after a command that has ended its load and is refused', async (context) => {
  const { host, answerNext } = await startLoad(context, hasty)
  answerNext()
  const loaded = nextFact(host, 'PluginLoaded')
  const refused = await host.request('POST', '/api/plugins/clock/rollback', { body: { version: '7.0.0' } })
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
  await loaded
})

test('an update that has its files does not wait for a load that has begun meanwhile', async (context) => {
  const { host, server } = await startLoad(context)
  const { asked, held } = holdManifest(server, serve(tree('3.0.0')))
  const update = host.request('POST', '/api/plugins/clock/update', { body: {} })
  await asked
  const again = holdManifest(server, serve(tree('3.0.0')))
  const load = host.request('POST', '/api/plugins/clock/reload')
  await again.asked
  for (const go of held) go()
  server.handle = serve(tree('3.0.0'))
  const { status, body } = await update
  assert.deepEqual([status, body.version, body.state], [200, '3.0.0', 'running'])
  assert.deepEqual([(await load).status, (await load).body.enabled], [200, true])
})

test('where a plugin may run is written down at once while its repository does not answer, and then it is loaded anew', async (context) => {
  const { host, load, answerNext } = await startLoad(context, hasty)
  answerNext()
  const loaded = nextFact(host, 'PluginLoaded')
  const { revision } = (await host.request('GET', '/api/plugins/clock')).body
  const placement = { host: 'attic' }
  const placing = { by: 'http', expectedRevision: revision } as const
  const placed = await host.host.lifecycle.place('@test/clock', placement, placing)
  assert.deepEqual(placed.placement, placement)
  assert.deepEqual([(await load).status, (await load).body.enabled], [200, true])
  await loaded
})

test('where a plugin may run is refused after another command that came first has changed the plugin', async (context) => {
  const { host } = await startLoad(context)
  const { revision } = (await host.request('GET', '/api/plugins/clock')).body
  const { lifecycle } = host.host
  const limited = lifecycle.limit('@test/clock', { memory: 64 }, { by: 'http' })
  // It ends the load with which that one follows, too.
  const placing = { by: 'http', expectedRevision: revision } as const
  const placed = lifecycle.place('@test/clock', { host: 'attic' }, placing)
  await assert.rejects(placed, { code: 'revision_conflict' })
  assert.equal((await limited).limits.set.memory, 64)
})

test('while files that are missing are fetched the log of the plugin says so, and its error when they cannot be', async (context) => {
  const { host, server, load } = await startLoad(context)
  assert.equal(
    (await logMessages(host, 'clock')).at(-1),
    'Its files are missing: the repository "test" is asked for them',
  )
  server.handle = (_request, response) => void response.writeHead(500).end()
  const { error } = await command(host, 'clock/reload')
  assert.equal(
    error.message,
    `The files of @test/clock are missing. The repository "test" (${server.url}) cannot be read: it answers 500 for plugins.json; the server has a fault; try again later.`,
  )
  assert.equal((await load).status, 200)
})
