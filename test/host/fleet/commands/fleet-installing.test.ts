import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../../src/base/time/clock.ts'
import { createFleetInstalling } from '../../../../src/host/fleet/commands/fleet-installing.ts'
import { createWhileMoving } from '../../../../src/host/fleet/commands/while-moving.ts'
import { initialState } from '../../../../src/journal/fold/evolve.ts'
import { ownsAll } from '../../../../src/lifecycle/ownership.ts'
import type { Fact } from '../../../../src/schema/journal/journal-event.ts'
import { gateFixture } from '../../../helpers/fixture-repository.ts'
import { startHostFor } from '../../../helpers/test-host.ts'

const id = '@fixtures/slow'
const plugins = [
  gateFixture,
  {
    id: 'slow',
    lua: `
local plugin = Plugin:new("slow")
plugin:onCleanup(function() repeat until Plugin.get("gate"):isOpen() end)
return plugin
`,
  },
]

test('an installation leaves the host to end what it was cut off from, and is done then', async (t) => {
  const host = await startHostFor(t, { plugins })
  const { lifecycle } = host.host
  for (const name of ['gate', 'slow']) {
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${name}` } })
    await host.request('POST', `/api/plugins/${name}/toggle`, { body: { enabled: true } })
  }
  // The session of this host has ended, and another one has uninstalled the plugin.
  lifecycle.handover.cut(id)
  const facts: Fact[] = [
    { type: 'PluginUnloadRequested', plugin: id, data: { reason: 'uninstall' } },
    { type: 'PluginUnloaded', plugin: id, data: { reason: 'uninstall' } },
    { type: 'PluginUninstalled', plugin: id, data: { purged: [] } },
  ]
  await lifecycle.record(facts as never, 'http')
  // Time goes on with each look at it, so that no machine is too slow.
  let looks = 0
  const whileMoving = createWhileMoving({
    clock: { ...systemClock, monotonic: () => (looks += 1) },
    ownership: ownsAll,
    async changeUntil() {
      await host.request('PUT', '/api/plugins/gate/controls/open', { body: { value: true } })
    },
  })
  const install = createFleetInstalling({
    ...{ lifecycle, whileMoving },
    journal: { live: initialState(), finishBegun: () => Promise.resolve() },
    maySpeak: () => true,
    holderSoon: () => Promise.resolve(),
  })
  const installed = await install({ fullId: id }, { by: 'http' })
  assert.deepEqual([installed.id, installed.state], [id, 'installed'])
})
