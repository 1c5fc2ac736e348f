import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openJournal } from '../../fleet/fleet-stage.ts'
import { gateFixture } from '../../helpers/fixture-repository.ts'
import { install, startFleetStage, untilPlugin } from './fleet-stage.ts'

/** What a caller is answered when another host of the fleet has written about a plugin that is being loaded for it. */

const gate = '@fixtures/gate'
const slow = '@fixtures/slow'
const path = (id: string, rest: string): string => `/api/plugins/${encodeURIComponent(id)}/${rest}`

const plugins = [
  gateFixture,
  {
    id: 'slow',
    lua: `
local plugin = Plugin:new("slow")
plugin:onInit(function() repeat until Plugin.get("gate"):isOpen() end)
return plugin
`,
  },
]

test('a command whose load another host has overtaken is decided anew, and nobody reads of its facts', async (t) => {
  const stage = await startFleetStage(t, plugins)
  const host = await stage.start('a')
  await install(host, gate)
  await host.request('POST', '/api/plugins/install', { body: { fullId: slow } })
  const enabling = host.request('POST', path(slow, 'toggle'), { body: { enabled: true } })
  await untilPlugin(host, slow, 'to load', ({ state }) => state === 'loading')

  const { journal: other } = await openJournal(t, [stage.nats.url], { fleet: 'test' })
  await other.append([{ type: 'PluginLoaded', plugin: slow, data: {} }], 'supervisor')
  await untilPlugin(host, slow, 'to run elsewhere', ({ state }) => state === 'running')

  await host.request('PUT', path(gate, 'controls/open'), { body: { value: true } })
  const { status, body } = await enabling
  assert.deepEqual([status, body.enabled], [200, true], JSON.stringify(body))
  await untilPlugin(host, slow, 'to run here', ({ state }) => state === 'running')
  const { events } = (await host.request('GET', path(slow, 'history'))).body
  assert.deepEqual(
    events.slice(-5).map(({ type }: { type: string }) => type),
    ['PluginEnabled', 'PluginLoaded', 'PluginUnloaded', 'PluginLoadRequested', 'PluginLoaded'],
  )
})
