import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Plugin } from '../../../src/schema/plugin/plugin.ts'
import type { TestHost } from '../../helpers/test-host.ts'
import { until } from '../../helpers/until.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

/** A plugin that cannot begin without another one, in a fleet whose placements may part them. */

const base = '@fixtures/base'
const above = '@fixtures/above'

const baseAndAbove = [
  { id: 'base', lua: 'local p = Plugin:new("base") p:onInit(function() end) return p' },
  {
    id: 'above',
    lua: 'local p = Plugin:new("above") p:onInit(function() p:log("info", "got " .. Plugin.get("@fixtures/base").id) end) return p',
    manifest: { dependencies: ['@fixtures/base@^1.0.0'] },
  },
]

async function startThree(t: TestContext) {
  const stage = await startFleetStage(t, baseAndAbove)
  const a = await stage.start('a')
  const b = await stage.start('b')
  await stage.start('c', { labels: ['serial'] })
  await install(a, base)
  await install(a, above)
  return { a, b }
}

const place = (host: TestHost, id: string, placement: object) =>
  host.request('PUT', `/api/plugins/${encodeURIComponent(id)}/placement`, { body: placement })

function untilBothRunOn(host: TestHost, on: string): Promise<boolean> {
  return until(`both to run on ${on}`, async () => {
    const { plugins } = (await host.request('GET', '/api/plugins')).body as { plugins: Plugin[] }
    return plugins.every(({ state, host: its }) => state === 'running' && its === on)
  })
}

test('a plugin and what it depends on share a host', async (t) => {
  const stage = await startFleetStage(t, baseAndAbove)
  const a = await stage.start('a')
  await stage.start('b')
  await install(a, base)
  await install(a, above)
  const both = await until('both to run on one host', async () => {
    const { plugins } = (await a.request('GET', '/api/plugins')).body as { plugins: Plugin[] }
    return (
      plugins.every(({ state }) => state === 'running') && new Set(plugins.map(({ host }) => host)).size === 1
    )
  })
  assert.ok(both)
})

test('what a plugin depends on goes with it where its placement says, without a failure in between', async (t) => {
  const { a } = await startThree(t)
  for (const [id, placement, on] of [
    [above, { host: 'b' }, 'b'],
    [above, { labels: ['serial'] }, 'c'],
    [base, { host: 'c' }, 'c'],
  ] as const) {
    assert.equal((await place(a, id, placement)).status, 200)
    await untilBothRunOn(a, on)
  }
  assert.equal((await place(a, above, {})).status, 200)
  for (const on of ['a', 'b']) {
    assert.equal((await place(a, base, { host: on })).status, 200)
    await untilBothRunOn(a, on)
  }
  const { events } = (await a.request('GET', '/api/history?limit=1000')).body
  const failures = events.filter(({ type }: { type: string }) => /Failed|Crashed/.test(type))
  assert.deepEqual(failures, [])
})

test('a placement that would part a plugin from what it depends on is refused, and says what to do', async (t) => {
  const { a } = await startThree(t)
  assert.equal((await place(a, base, { host: 'b' })).status, 200)
  await untilBothRunOn(a, 'b')
  // A plugin is shown where its lease is; that it has moved is written down a moment later.
  await until('both moves to be written down', async () => {
    const { events } = (await a.request('GET', '/api/history?limit=1000')).body
    const isMove = ({ type, data }: { type: string; data: { to?: string } }) =>
      type === 'PluginMoved' && data.to === 'b'
    return events.filter(isMove).length === 2
  })
  const before = a.host.lifecycle.lastSeq
  for (const [id, placement, where] of [
    [above, { host: 'a' }, 'the host a'],
    [above, { labels: ['serial'] }, 'a host with the labels serial'],
  ] as const) {
    const refused = await place(a, id, placement)
    assert.deepEqual([refused.status, refused.body.code], [409, 'no_other_host'])
    assert.equal(
      refused.body.detail,
      `${above} cannot be placed on ${where}: it and ${base} run on the same host, because one needs the other, and ${base} is ` +
        `placed on the host b; no host is all of that. Take the placement of ${base} away first, or give all of them one that ` +
        'one host is like. Nothing was changed.',
    )
  }
  assert.equal(a.host.lifecycle.lastSeq, before)
  // The way that it names.
  assert.equal((await place(a, base, {})).status, 200)
  assert.equal((await place(a, above, { labels: ['serial'] })).status, 200)
  await untilBothRunOn(a, 'c')
  const other = await place(a, base, { host: 'a' })
  assert.deepEqual([other.status, other.body.code], [409, 'no_other_host'])
  assert.match(
    other.body.detail,
    /^@fixtures\/base cannot be placed on the host a: .*@fixtures\/above is placed on a host with/,
  )
})

test('plugins whose placements part them already say so, and run when one of them is placed anew', async (t) => {
  const { a, b } = await startThree(t)
  assert.equal((await place(a, base, { host: 'b' })).status, 200)
  await untilBothRunOn(a, 'b')
  // As a host of an earlier version has written it down.
  await b.host.lifecycle.place(above, { host: 'a' }, { by: 'http' })
  const written = await a.request('GET', `/api/plugins/${encodeURIComponent(above)}`)
  assert.deepEqual(written.body.placement, { host: 'a' })
  const failed = await untilPlugin(a, above, 'to say so', ({ error }) => error?.code === 'dependency_unmet')
  assert.deepEqual([failed.state, failed.host], ['failed', 'a'])
  assert.equal(
    failed.error?.message,
    `${above} is on the host a and needs ${base}, which runs on the host b: a plugin runs on the same host as what it needs. ` +
      `Their placements ask for ${above} on the host a, and ${base} on the host b. Give them placements that one host is like, ` +
      'which then runs them all.',
  )
  assert.equal((await place(a, base, {})).status, 200)
  await untilBothRunOn(a, 'a')
})
