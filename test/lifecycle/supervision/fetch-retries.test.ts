import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { fetchRetry } from '../../../src/lifecycle/loading/restart-policy.ts'
import { generousTime } from '../../helpers/generous-time.ts'
import { command, nextFact, startHostFor, type TestHost } from '../../helpers/test-host.ts'
import { clockRepository, type Handler, serve, startServer } from '../../repository/repository-fixture.ts'

/** Plugins whose files are missing, and whose repository cannot be read: it is asked again later. */

/** Its control takes all memory there is, which is a crash. */
const lua = `
local p = Plugin:new("clock")
p:control("go", function() return 0 end, function() local t = {} while true do t[#t + 1] = {{}, {}} end end)
return p
`
const tree = clockRepository('1.0.0', { files: { 'clock/init.lua': lua } })
const busy: Handler = (_request, response) => void response.writeHead(503).end()

/** A host with such a plugin, which is enabled just now; what it does after a while is done when a test says so. */
async function start(context: TestContext) {
  const held = new Map<() => void, number>()
  const delays = [1, 2, 3].map((attempt) => fetchRetry(attempt).delay)
  const server = await startServer(context, serve(tree))
  const host = await startHostFor(context, {
    limits: generousTime,
    settings: { isolation: 'dedicated' },
    restartPolicy: { budget: 3, stableAfter: 600_000, firstDelay: 1, longestDelay: 1, jitter: 0 },
    hostFile: { repositories: [{ name: 'test', url: server.url }] },
    clock: {
      ...systemClock,
      schedule(milliseconds, callback) {
        if (!delays.includes(milliseconds)) return systemClock.schedule(milliseconds, callback)
        held.set(callback, milliseconds)
        return { cancel: () => void held.delete(callback) }
      },
    },
  })
  await command(host, 'install', { fullId: '@test/clock' })
  await rm(join(host.directory, 'plugins', 'test--clock'), { recursive: true })
  server.handle = busy
  const first = await command(host, 'clock/toggle', { enabled: true })
  return {
    ...{ host, server, first },
    /** The time for this attempt has come. */
    elapse(attempt: number) {
      const due = [...held].filter(([, delay]) => delay === fetchRetry(attempt).delay)
      for (const [callback] of due) {
        held.delete(callback)
        callback()
      }
    },
  }
}

async function view(host: TestHost) {
  const { state, error, restart } = (await host.request('GET', '/api/plugins/clock')).body
  return [state, error?.code ?? null, restart]
}

const failed = (attempt: number) => ['failed', 'repository_unreachable', fetchRetry(attempt)]

test('a plugin whose files are missing is tried again until its repository can be read, and says when', async (context) => {
  const { host, server, first, elapse } = await start(context)
  assert.deepEqual([first.state, first.error.code, first.restart], failed(1))
  const again = nextFact(host, 'PluginLoadFailed')
  elapse(1)
  assert.deepEqual((await again).data.restart, fetchRetry(2))
  assert.deepEqual(await view(host), failed(2))
  server.handle = serve(tree)
  const loaded = nextFact(host, 'PluginLoaded')
  elapse(2)
  assert.equal((await loaded).by, 'supervisor')
  assert.deepEqual(await view(host), ['running', null, null])
  // The next time it is the first again, after a crash, too.
  await rm(join(host.directory, 'plugins', 'test--clock'), { recursive: true })
  server.handle = busy
  const afterCrash = nextFact(host, 'PluginLoadFailed')
  void host.request('PUT', '/api/plugins/clock/controls/go', { body: { value: 1 } })
  assert.deepEqual((await afterCrash).data.restart, fetchRetry(1))
})

test('a command begins the attempts anew, and one that switches the plugin off ends them', async (context) => {
  const { host, server, elapse } = await start(context)
  const again = nextFact(host, 'PluginLoadFailed')
  elapse(1)
  await again
  await command(host, 'clock/reload')
  assert.deepEqual(await view(host), failed(1))
  await command(host, 'clock/toggle', { enabled: false })
  assert.deepEqual(await view(host), ['unloaded', null, null])
  const { length } = server.requests
  for (const attempt of [1, 2, 3]) elapse(attempt)
  // The mutex of the plugin is free when this is answered: nothing has come before it.
  await command(host, 'clock/config', { config: { a: 1 } })
  assert.equal(server.requests.length, length)
})

test('another host of a fleet that takes such a plugin over tries at once', async (context) => {
  const { host, server } = await start(context)
  server.handle = serve(tree)
  const move = { host: 'another', epoch: 1, reason: 'its host has gone' }
  await host.host.lifecycle.handover.take('@test/clock', move)
  assert.deepEqual(await view(host), ['running', null, null])
})

test('what fails for another reason is not tried again', async (context) => {
  const { host, server, elapse } = await start(context)
  server.handle = serve({ ...tree, 'clock/plugin.json': '{}' })
  const again = nextFact(host, 'PluginLoadFailed')
  elapse(1)
  assert.equal((await again).data.restart, undefined)
  assert.deepEqual(await view(host), ['failed', 'manifest_invalid', null])
})

test('attempts are further and further apart, up to six hours', () => {
  const seconds = [1, 2, 3, 10, 13, 14, 1000].map((attempt) => fetchRetry(attempt).delay / 1000)
  assert.deepEqual(seconds, [5, 10, 20, 2560, 20480, 21600, 21600])
})
