import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAuthor } from '../../../../src/host/fleet/membership/author.ts'
import type { PluginFact } from '../../../../src/schema/journal/journal-event.ts'
import { createFleetStage } from '../../../fleet/fleet-stage.ts'
import { configured, id, installation } from '../../../helpers/any-fact.ts'

const stage = createFleetStage()

test('a host that has a plugin no more, and has not heard yet who has it, writes nothing about it but where it is to be', async (context) => {
  const fleet = stage.newFleet()
  let owned: { host: string; epoch: number } | undefined = { host: 'a', epoch: 1 }
  const former = await stage.openHost(context, fleet, {
    author: createAuthor(() => ({
      id: 'a',
      holderOf: () => owned,
      ownership: { owns: () => owned !== undefined, whereabouts: () => assert.fail() },
    })),
  })
  const present = await stage.openHost(context, fleet, {
    author: createAuthor(() => ({
      id: 'b',
      holderOf: () => ({ host: 'b', epoch: 2 }),
      ownership: { owns: () => true, whereabouts: () => assert.fail() },
    })),
  })
  const moved = (to: string, epoch: number): PluginFact => ({
    type: 'PluginMoved',
    plugin: id,
    data: { from: null, to, epoch, reason: 'test', keepsRevision: true },
  })
  await former.append(installation(id), 'http')
  await former.append([moved('a', 1)], 'supervisor')
  await former.append(
    [
      { type: 'PluginEnabled', plugin: id, data: {} },
      { type: 'PluginLoaded', plugin: id, data: {} },
    ],
    'http',
  )
  // Its session is over, in the midst of a command.
  owned = undefined
  await present.append([moved('b', 2)], 'supervisor')
  const late: PluginFact[] = [
    { type: 'PluginUnloaded', plugin: id, data: { reason: 'interrupted' } },
    configured(id, { late: true }),
  ]
  for (const fact of late)
    await assert.rejects(former.append([fact], 'supervisor'), { code: 'plugin_moving' }, fact.type)
  assert.equal(present.state.plugins.get(id)?.value, 'running')
  const placement = { host: 'b' }
  await former.append([{ type: 'PluginPlaced', plugin: id, data: { placement } }], 'http')
  await present.append([configured(id, { late: false })], 'http')
  const { context: seen } = present.state.plugins.get(id) ?? {}
  assert.deepEqual([seen?.placement, seen?.config], [placement, { late: false }])
})
