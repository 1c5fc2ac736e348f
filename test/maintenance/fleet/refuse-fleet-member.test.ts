import assert from 'node:assert/strict'
import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { snapshotFileName } from '../../../src/journal/snapshot/snapshot.ts'
import { joinCommand } from '../../../src/maintenance/fleet/commands.ts'
import { standardFixtures } from '../../helpers/fixture-repository.ts'
import { until } from '../../helpers/until.ts'
import { install, startFleetStage } from '../../host/fleet/fleet-stage.ts'

test('the directory of a host of a fleet is told to be that, whether it was stopped in order or not, and does not join', async (t) => {
  const stage = await startFleetStage(t, standardFixtures)
  const a = await stage.start('a')
  await install(a, '@fixtures/demo')
  const settings = (fleet: string, dataDirectory: string) => ({
    ...{ servers: [stage.nats.url], fleet, dataDirectory, secretKeyFile: join(a.directory, '..', 'key') },
    ...{ credentialsFile: undefined, passwordFile: undefined, caFile: undefined },
  })
  // As a host leaves it that is killed, once the snapshot with its name is there: nobody waits for that in a fleet.
  await until('the snapshot', async () => (await readdir(a.directory)).includes(snapshotFileName))
  const copied = join(a.directory, '..', 'copied')
  const isNoLock = (path: string): boolean => !path.includes('lock')
  // A file that gets its name while it is copied is gone under the one before.
  await until('a copy', async () => {
    await rm(copied, { recursive: true, force: true })
    return cp(a.directory, copied, { recursive: true, filter: isNoLock }).then(
      () => true,
      () => undefined,
    )
  })
  await a.host.close()
  for (const directory of [a.directory, copied]) {
    const before = (await readdir(directory)).sort()
    await assert.rejects(joinCommand(settings('test', directory)), {
      message:
        /^\S+ is of the host "a" of the fleet test already, so there is nothing to join\. Start the host in it with HOST_FLEET_URL and HOST_FLEET=test; .*fleet leave/,
    })
    await assert.rejects(joinCommand(settings('other', directory)), {
      message: /^\S+ is of the host "a" of another fleet than other, .*HOST_FLEET.*fleet leave/,
    })
    assert.deepEqual((await readdir(directory)).sort(), before)
  }
  // Also when none of its plugins runs: then the first lines of a journal are there, and nothing is going on.
  const again = await stage.start('a')
  await again.request('POST', '/api/plugins/demo/toggle', { body: { enabled: false } })
  await again.host.close()
  await assert.rejects(joinCommand(settings('test', a.directory)), /of the fleet test already/)
  const connection = await connect({ servers: stage.nats.url })
  t.after(() => connection.close())
  const names: string[] = []
  for await (const name of (await jetstreamManager(connection)).streams.names()) names.push(name)
  assert.ok(!names.some((name) => name.includes('LUPINE_other')), names.join())
})
