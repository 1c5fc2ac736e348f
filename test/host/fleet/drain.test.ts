import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { until } from '../../helpers/until.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

/** Hosts that are to get rid of their plugins. */

const plugins = ['one', 'two'].map((id) => ({ id, lua: `return Plugin:new("${id}")` }))

test(
  'of two hosts that are drained at the same time one is refused, as there is no other for its plugins',
  { timeout: 60_000 },
  async (t) => {
    const stage = await startFleetStage(t, plugins)
    const a = await stage.start('a')
    const b = await stage.start('b')
    for (const [id, host] of [
      ['@fixtures/one', 'a'],
      ['@fixtures/two', 'b'],
    ] as const) {
      await install(a, id)
      const path = `/api/plugins/${encodeURIComponent(id)}/placement`
      await a.request('PUT', path, { body: { host } })
      await untilPlugin(b, id, `on ${host}`, (plugin) => plugin.host === host && plugin.state === 'running')
      await a.request('PUT', path, { body: {} })
    }
    const drained = await Promise.all([
      a.request('POST', '/api/hosts/a/drain'),
      b.request('POST', '/api/hosts/b/drain'),
    ])
    assert.deepEqual(drained.map(({ status }) => status).sort(), [200, 409])
    const { hosts } = (await b.request('GET', '/api/hosts')).body
    const kept = hosts.filter(({ draining }: { draining: boolean }) => !draining)
    assert.equal(kept.length, 1)
    for (const id of ['@fixtures/one', '@fixtures/two'])
      await untilPlugin(b, id, 'on the host that stays', (plugin) => plugin.host === kept[0].id)
  },
)

/** Two hosts, of which `b` is asked to drain `a`, whose plugin takes its time to go. `draining`: the answer. */
async function startDrain(t: TestContext) {
  const lua = `
    local plugin = Plugin:new("slow")
    plugin:onCleanup(function() while true do end end)
    return plugin`
  const stage = await startFleetStage(t, [{ id: 'slow', lua }])
  const a = await stage.start('a')
  const { host } = await install(a, '@fixtures/slow')
  assert.equal(host, 'a')
  const b = await stage.start('b')
  const draining = b.request('POST', '/api/hosts/a/drain')
  await until('the drain', async () => {
    const { hosts } = (await a.request('GET', '/api/hosts')).body
    return hosts.some((one: { draining: boolean }) => one.draining)
  })
  return { b, draining }
}

test(
  'whoever waits for a host to be empty is told at once when somebody ends the drain',
  { timeout: 60_000 },
  async (t) => {
    const { b, draining } = await startDrain(t)
    await b.request('DELETE', '/api/hosts/a/drain')
    const { status, body } = await draining
    assert.deepEqual([status, body.code], [409, 'invalid_transition'])
  },
)

test(
  'whoever waits for another host to be empty is told when the host that was asked closes meanwhile',
  { timeout: 60_000 },
  async (t) => {
    const { b, draining } = await startDrain(t)
    const closed = b.close()
    const { status, body } = await draining
    assert.deepEqual([status, body.code], [503, 'shutting_down'])
    await closed
  },
)
