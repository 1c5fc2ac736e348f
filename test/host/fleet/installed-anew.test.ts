import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { openFleetFiles } from '../../../src/fleet/files/fleet-files.ts'
import { defaultRepositoryLimits } from '../../../src/repository/limits.ts'
import { openJournal } from '../../fleet/fleet-stage.ts'
import { command } from '../../helpers/test-host.ts'
import { startFleetStage, untilPlugin } from './fleet-stage.ts'

const lamp = '@fixtures/lamp'
const lua = (version: string): string => `
local plugin = Plugin:new("lamp")
plugin:onInit(function() plugin:upsertObject("code", { version = "${version}" }) end)
return plugin
`

test('a host that still has a plugin which was uninstalled, and which another host has installed anew, runs what was installed', async (t) => {
  const stage = await startFleetStage(t, [{ id: 'lamp', lua: lua('1.0.0') }])
  const host = await stage.start('a')
  await command(host, 'install', { fullId: lamp })
  await untilPlugin(host, lamp, 'to be had', (plugin) => plugin.host === 'a')

  const { journal: other, connection } = await openJournal(t, [stage.nats.url], { fleet: 'test' })
  const contents = new Map([
    ['plugin.json', Buffer.from(JSON.stringify({ id: 'lamp', name: 'Lamp', version: '2.0.0' }))],
    ['init.lua', Buffer.from(lua('2.0.0'))],
  ])
  const shared = await openFleetFiles(connection, 'test', {
    ...{ clock: systemClock, limits: defaultRepositoryLimits },
  })
  await shared.put(contents.values())
  const integrity = Object.fromEntries(
    [...contents].map(([file, bytes]) => [file, createHash('sha256').update(bytes).digest('hex')]),
  )
  const release = { version: '2.0.0', repository: 'fixtures' }
  // Together, so that the lease of the host does not end in between.
  await other.append(
    [
      { type: 'PluginUninstalled', plugin: lamp, data: { purged: [] } },
      { type: 'PluginInstallRequested', plugin: lamp, data: release },
      { type: 'PluginInstalled', plugin: lamp, data: { ...release, indexVersion: '2.0.0', integrity } },
    ],
    'http',
  )

  await untilPlugin(host, lamp, 'to be the new one', ({ version }) => version === '2.0.0')
  await command(host, `${encodeURIComponent(lamp)}/toggle`, { enabled: true })
  const path = `/api/plugins/${encodeURIComponent(lamp)}`
  const { state, integrity: found } = (await host.request('GET', path)).body
  assert.deepEqual([state, found], ['running', { intact: true, changed: [] }])
  const { objects } = (await host.request('GET', `${path}/objects`)).body
  assert.deepEqual(objects, { code: { version: '2.0.0' } })
})
