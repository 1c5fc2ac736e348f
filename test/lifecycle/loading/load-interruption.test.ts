import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { collect, connect } from '../../bus/bus-fixture.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { announced, command, startHostFor, type TestHost } from '../../helpers/test-host.ts'

/** Whoever switches a plugin off or removes it does not wait until it has loaded. */

/** Says that it is at it, and does not come to an end: an instruction that takes long is followed by the next. */
const endless: FixturePlugin = {
  id: 'endless',
  lua: `
local plugin = Plugin:new("endless")
plugin:onInit(function()
  plugin:log("info", "busy")
  while true do pcall(function() for i = 1, 1e9 do plugin:upsertObject("o" .. (i % 1000), { i = i }) end end) end
end)
return plugin
`,
}

interface Fact {
  type: string
  by: string
  data: { reason?: string }
}

async function facts(host: TestHost): Promise<Fact[]> {
  return (await host.request('GET', '/api/plugins/%40fixtures%2Fendless/history')).body.events
}

/** Resolves when onInit is running. */
const busy = (host: TestHost) =>
  announced(host, (one) => one.kind === 'log' && one.line.value().message === 'busy')

const on = { body: { enabled: true } }
const off = { body: { enabled: false } }

for (const isolation of ['dedicated', 'shared'] as const) {
  const stage = async (context: TestContext): Promise<TestHost> => {
    const settings = { isolation }
    // Nobody waits for its deadline.
    const limits = { loadDeadline: 600_000, loadTime: 600_000 }
    const host = await startHostFor(context, { plugins: [endless], settings, limits })
    await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/endless' } })
    return host
  }

  test(`a load ends at once when its owner switches the plugin off (${isolation})`, async (context) => {
    const host = await stage(context)
    const atIt = busy(host)
    const waiting = host.request('POST', '/api/plugins/endless/toggle', on)
    await atIt
    const answer = await host.request('POST', '/api/plugins/endless/toggle', off)
    assert.deepEqual(
      [answer.status, answer.body.enabled, answer.body.state, answer.body.error],
      [200, false, 'unloaded', null],
    )
    const refused = await waiting
    assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
    assert.match(refused.body.detail, /toggle \(http\) interrupted that/)
    assert.deepEqual(
      (await facts(host)).slice(-3).map(({ type, by, data }) => [type, by, data.reason]),
      [
        ['PluginEnabled', 'http', undefined],
        ['PluginUnloaded', 'http', 'interrupted by toggle (http)'],
        ['PluginDisabled', 'http', undefined],
      ],
    )
    assert.deepEqual((await host.request('GET', '/api/plugins/endless/objects')).body, { objects: {} })
  })

  test(`a load ends at once when its owner removes the plugin, and no command before that begins another (${isolation})`, async (context) => {
    const host = await stage(context)
    const atIt = busy(host)
    const waiting = host.request('POST', '/api/plugins/endless/toggle', on)
    await atIt
    const next = host.request('POST', '/api/plugins/endless/reload')
    const stale = await host.request('DELETE', '/api/plugins/endless', { headers: { 'if-match': '"1"' } })
    assert.equal(stale.status, 412, 'a command that is refused interrupts nothing')
    assert.equal((await host.request('GET', '/api/plugins/endless')).body.state, 'loading')
    const answer = await host.request('DELETE', '/api/plugins/endless')
    assert.deepEqual([answer.status, answer.body.state], [200, 'uninstalled'])
    for (const { status, body } of [await waiting, await next]) {
      assert.deepEqual([status, body.code], [409, 'invalid_transition'])
      assert.match(body.detail, /uninstall \(http\) interrupted that/)
    }
    assert.equal((await facts(host)).at(-1)?.type, 'PluginUninstalled')
  })
}

test('who shares a worker with a plugin whose load is ended notices nothing of it, and the plugin may be loaded again', async (context) => {
  const quiet = { id: 'quiet', lua: 'local plugin = Plugin:new("quiet") return plugin' }
  const host = await startHostFor(context, { plugins: [endless, quiet] })
  await command(host, 'install', { fullId: '@fixtures/quiet' })
  await command(host, 'install', { fullId: '@fixtures/endless' })
  const before = await command(host, 'quiet/toggle')
  for (let round = 1; round <= 2; round += 1) {
    const atIt = busy(host)
    const waiting = host.request('POST', '/api/plugins/endless/toggle', on)
    await atIt
    const workers = new Set(
      (await host.request('GET', '/api/system')).body.isolates.map((one: { worker: number }) => one.worker),
    )
    assert.equal(workers.size, 1, 'they share a worker')
    await command(host, 'endless/toggle', { enabled: false })
    assert.equal((await waiting).status, 409)
  }
  const { logs } = (await host.request('GET', '/api/plugins/endless/logs')).body
  assert.doesNotMatch(JSON.stringify(logs), /trying again/)
  const after = (await host.request('GET', '/api/plugins/quiet')).body
  assert.deepEqual([after.state, after.revision], ['running', before.revision])
})

/** A host whose plugin is being loaded, and what whoever switched it on will be answered. */
async function startLoading(context: TestContext) {
  const host = await startHostFor(context, { plugins: [endless] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/endless' } })
  const atIt = busy(host)
  const waiting = host.request('POST', '/api/plugins/endless/toggle', on)
  await atIt
  return { host, waiting }
}

test('a removal that names the revision of the load that it interrupts is carried out', async (context) => {
  const { host, waiting } = await startLoading(context)
  const { revision } = (await host.request('GET', '/api/plugins/endless')).body
  const headers = { 'if-match': `"${revision}"` }
  const answer = await host.request('DELETE', '/api/plugins/endless', { headers })
  assert.deepEqual([answer.status, (await waiting).status], [200, 409])
})

test('a command whose load is ended by a move to another host is done: the next one loads it', async (context) => {
  const { host, waiting } = await startLoading(context)
  await host.host.lifecycle.handover.giveUp('@fixtures/endless')
  const { status, body } = await waiting
  assert.deepEqual([status, body.enabled, body.state, body.error], [200, true, 'unloaded', null])
})

test('a load that is cut, as another host has the plugin, ends at once, and is no failure of the plugin', async (context) => {
  const { host, waiting } = await startLoading(context)
  host.host.lifecycle.handover.cut('@fixtures/endless')
  const { status, body } = await waiting
  assert.deepEqual([status, body.enabled, body.state, body.error], [200, true, 'unloaded', null])
  const last = (await facts(host)).at(-1)
  assert.deepEqual(
    [last?.type, last?.data.reason],
    ['PluginUnloaded', 'interrupted by its move to another host'],
  )
})

test('a load ends at once when its owner removes the plugin over MQTT', async (context) => {
  const { host, waiting } = await startLoading(context)
  const client = await connect(context, host.mqttUrl)
  const received = collect(client)
  await client.subscribeAsync('host/response/#')
  const request = { plugin: 'endless', transaction: 1 }
  await client.publishAsync('host/request/uninstall', JSON.stringify(request), { qos: 1 })
  const [response] = await received.take(1)
  assert.deepEqual(JSON.parse(response?.text ?? ''), {
    status: 'ok',
    data: { id: '@fixtures/endless', state: 'uninstalled' },
    transaction: 1,
  })
  const refused = await waiting
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
  assert.match(refused.body.detail, /uninstall \(mqtt\) interrupted that/)
})
