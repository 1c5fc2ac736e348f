import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mosquittoMissing } from '../../bus/mosquitto.ts'
import { until } from '../../helpers/until.ts'
import { createFaultStage } from './faults/fault-stage.ts'
import { mountingRefused, startSmallStore } from './faults/small-store.ts'

test('the disk of the store is full: hosts say so, nobody acts twice, and no command is lost when there is room again', async (context) => {
  const refused = mosquittoMissing === false ? await mountingRefused() : mosquittoMissing
  if (refused !== undefined) {
    context.skip(refused)
    return
  }
  const store = await startSmallStore(context)
  const stage = await createFaultStage(context, [store.server.url])
  await store.fill()
  for (const host of stage.hosts) await until(`${host.id} to know it`, async () => !(await host.isReady()))
  assert.deepEqual(stage.witness.breaches, [])
  await store.makeRoom()
  // A server that has met a full disk gives JetStream up until it is started again, and 2.9.10 does not end when it is asked to.
  await store.server.stop('SIGKILL')
  await store.server.start()
  for (const host of stage.hosts) await until(`${host.id} to be back`, () => host.isReady())
  await stage.requireAllWell()
})
