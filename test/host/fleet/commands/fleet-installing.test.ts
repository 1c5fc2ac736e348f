import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../../src/base/time/clock.ts'
import { createFleetInstalling } from '../../../../src/host/fleet/commands/fleet-installing.ts'
import { createWhileMoving } from '../../../../src/host/fleet/commands/while-moving.ts'
import { initialState } from '../../../../src/journal/fold/evolve.ts'
import { retryAfterCatchUp } from '../../../../src/lifecycle/facade.ts'
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

const uninstallation: Fact = { type: 'PluginUninstalled', plugin: id, data: { purged: [] } }

test('an installation that somebody has taken back before it was answered is not done anew', async (t) => {
  const host = await startHostFor(t, { plugins })
  const { lifecycle } = host.host
  const install = createFleetInstalling({
    lifecycle,
    whileMoving: (_id, attempt) => attempt(),
    journal: { live: initialState(), finishBegun: () => Promise.resolve() },
    maySpeak: () => true,
    holderSoon: () => lifecycle.record([uninstallation] as never, 'http'),
  })
  const face = {
    catchUp: () => Promise.resolve(true),
    get lastSeq() {
      return lifecycle.lastSeq
    },
  }
  await assert.rejects(
    retryAfterCatchUp(face, () => install({ fullId: id }, { by: 'http' }), { isCommand: true }),
    { code: 'invalid_transition', message: /was installed, and uninstalled by somebody else/ },
  )
  const { events } = (await host.request('GET', '/api/history?limit=1000')).body
  const types = events.map(({ type }: Fact) => type)
  assert.equal(types.filter((type: string) => type === 'PluginInstalled').length, 1, types.join())
})

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
    uninstallation,
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
