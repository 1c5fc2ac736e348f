import assert from 'node:assert/strict'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { readKeyFile } from '../../../src/base/keys/key-file.ts'
import { openLeaseBucket } from '../../../src/fleet/leases/lease-bucket.ts'
import { leaseBuckets } from '../../../src/fleet/leases/lease-store.ts'
import { leaseTiming } from '../../../src/fleet/leases/timing.ts'
import { joinCommand, leaveCommand, restoreCommand } from '../../../src/maintenance/fleet/commands.ts'
import { restoreEnd } from '../../../src/maintenance/fleet/restore-end.ts'
import { standardFixtures } from '../../helpers/fixture-repository.ts'
import { connectTo } from '../../helpers/nats-server.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { openTestHost, type TestHost } from '../../helpers/test-host.ts'
import { type FleetStage, install, startFleetStage, untilPlugin } from '../../host/fleet/fleet-stage.ts'

/** What the store of a fleet has lost of its end is brought back from the copies that its hosts have. */

const hello = '@fixtures/hello'

async function idsOf(host: TestHost): Promise<string[]> {
  const { events } = (await host.request('GET', '/api/history?limit=1000')).body
  return events.map(({ id }: { id: string }) => id)
}

/** Two hosts that are stopped, of which `a` has seen most, and a store that was put back from before what both have seen. */
async function stageWithLostEnd(
  t: TestContext,
  andThen: (a: TestHost, stage: FleetStage) => Promise<void> = async () => undefined,
) {
  const stage = await startFleetStage(t, standardFixtures)
  const a = await stage.start('a')
  const base = join(a.directory, '..')
  const [store, backup] = [join(base, 'nats-server', 'store'), join(base, 'backup')]
  await install(a, '@fixtures/demo')
  await stage.nats.stop('SIGTERM')
  await cp(store, backup, { recursive: true })
  await stage.nats.start()
  const b = await stage.start('b')
  await install(a, hello)
  await untilPlugin(b, hello, 'to be known', ({ state }) => state === 'running')
  await b.host.close()
  await untilPlugin(a, hello, 'to run', ({ host, state }) => host === 'a' && state === 'running')
  const { status } = await a.request('POST', '/api/plugins/hello/config', {
    body: { config: { name: 'moon' } },
  })
  assert.equal(status, 200)
  await andThen(a, stage)
  const history = await idsOf(a)
  await a.host.close()

  const putBack = async (): Promise<void> => {
    await stage.nats.stop('SIGTERM')
    await rm(store, { recursive: true })
    await cp(backup, store, { recursive: true })
    await stage.nats.start()
  }
  await putBack()
  const settingsOf = (dataDirectory: string) => {
    const login = { credentialsFile: undefined, passwordFile: undefined, caFile: undefined }
    const given = {
      servers: [stage.nats.url],
      fleet: 'test',
      dataDirectory,
      secretKeyFile: join(base, 'key'),
    }
    return { ...given, ...login }
  }
  const outcomeOf = (dataDirectory: string) => restoreCommand(settingsOf(dataDirectory))
  const restore = async (dataDirectory: string): Promise<string> => (await outcomeOf(dataDirectory)).text
  return { stage, a, b, base, history, putBack, settingsOf, outcomeOf, restore }
}

test('what a store has lost is brought back from the copies of its hosts, one after another, with the files of plugins', async (t) => {
  const { stage, a, b, history, restore } = await stageWithLostEnd(t)
  await assert.rejects(stage.start('a'), /lacks events that this host has seen .*lupine fleet restore/)
  await rm(join(b.directory, 'plugins'), { recursive: true })
  assert.match(
    await restore(b.directory),
    /^The fleet test has the events \d+ to \d+ again, .*\nWithout files: @fixtures\/hello; .*\nRun this /,
  )
  assert.match(await restore(a.directory), /^The fleet test has the events \d+ to \d+ again, .*\nRun this /)
  assert.match(await restore(b.directory), /^The fleet test has all .*; its journal was not changed\.\n$/)
  const again = await stage.start('b')
  const { config } = await untilPlugin(again, hello, 'to run', ({ state }) => state === 'running')
  assert.equal(config.name, 'moon')
  assert.deepEqual((await idsOf(again)).slice(0, history.length), history)
  // A host that has never seen the plugin finds its files.
  await stage.start('c')
  assert.equal(
    (await again.request('PUT', '/api/plugins/hello/placement', { body: { host: 'c' } })).status,
    200,
  )
  await untilPlugin(again, hello, 'to run on c', ({ host, state }) => host === 'c' && state === 'running')
  await stage.start('a')
})

test('files that the copy with the last events is without come from that of another host', async (t) => {
  const { a, b, restore } = await stageWithLostEnd(t)
  await rm(join(a.directory, 'plugins'), { recursive: true })
  assert.match(
    await restore(a.directory),
    /^The fleet test has the events .*\nWithout files: @fixtures\/hello; /,
  )
  assert.match(await restore(b.directory), /^The fleet test has all .*; its journal was not changed\.\n$/)
  assert.doesNotMatch(await restore(a.directory), /Without files/)
})

test('what a copy has lost of its own end, as its .host.json knows, is told, and comes from another copy', async (t) => {
  const { a, base, outcomeOf } = await stageWithLostEnd(t)
  const cut = join(base, 'cut')
  await cp(a.directory, cut, { recursive: true })
  const journal = join(cut, '.host.journal')
  const lines = (await readFile(journal, 'utf8')).trimEnd().split('\n')
  const { seq } = JSON.parse(await readFile(join(cut, '.host.json'), 'utf8')).journal
  await writeFile(journal, `${lines.slice(0, -2).join('\n')}\n`)
  const { text, isComplete } = await outcomeOf(cut)
  assert.match(
    text,
    new RegExp(`^The fleet test has the events .*\nMissing: the events ${seq - 1} to ${seq}, `),
  )
  assert.equal(isComplete, false)
  const whole = await outcomeOf(a.directory)
  assert.match(whole.text, new RegExp(`^The fleet test has the events ${seq - 1} to ${seq} again`))
  assert.equal(whole.isComplete, true)
  assert.equal((await outcomeOf(cut)).isComplete, true)
})

test('nothing is brought back beside a host that runs, nor into a fleet that has gone on without it', async (t) => {
  const { stage, a, base, restore } = await stageWithLostEnd(t)
  await assert.rejects(restore(await temporaryDirectory(t)), /There is no copy of a fleet's journal in /)
  const connection = await connectTo(t, stage.nats.url)
  const bucket = await openLeaseBucket(connection, leaseBuckets('test').hosts, undefined)
  const clock: Clock = {
    ...systemClock,
    schedule(milliseconds, callback) {
      if (milliseconds === leaseTiming.takeOverAfter)
        void bucket.write('alive', '{"n":1}', revision ?? 0).then(callback)
      else return systemClock.schedule(milliseconds, callback)
      return { cancel: () => undefined }
    },
  }
  const revision = await bucket.write('alive', '{}', 0)
  const ring = await readKeyFile(systemFileSystem, join(base, 'key'))
  const { directory } = a
  await assert.rejects(
    restoreEnd({ ...{ connection, fleet: 'test', directory, ring, clock }, files: systemFileSystem }),
    /Hosts are at work in the fleet test \(alive\).* stop them first/,
  )
  const other = await stage.start('other')
  const { lastSeq } = other.host.lifecycle
  await assert.rejects(restore(directory), /has another event \d+ than the copy in .*Nothing was changed/)
  assert.equal(other.host.lifecycle.lastSeq, lastSeq)
})

test('the way back to the version before an update comes back, too, for hosts that have never had it', async (t) => {
  const { stage, a, restore } = await stageWithLostEnd(t, async (host, { publish }) => {
    const next = standardFixtures.map((plugin) =>
      plugin.id === 'hello' ? { ...plugin, manifest: { ...plugin.manifest, version: '2.0.0' } } : plugin,
    )
    await publish(next)
    await host.request('POST', '/api/repositories/refresh')
    const { status, body } = await host.request('POST', '/api/plugins/hello/update', { body: {} })
    assert.deepEqual([status, body.version], [200, '2.0.0'], body.detail)
  })
  await restore(a.directory)
  const c = await stage.start('c')
  await untilPlugin(c, hello, 'to run on c', ({ host, state }) => host === 'c' && state === 'running')
  const { status, body } = await c.request('POST', '/api/plugins/hello/rollback', { body: {} })
  assert.deepEqual([status, body.version], [200, '1.0.0'], body.detail)
})

test('what a host has done by itself in a directory that was made out of the fleet is brought into that only once the fleet has gone on with it', async (t) => {
  const { stage, base, putBack, settingsOf, restore } = await stageWithLostEnd(t)
  const apart = join(base, 'apart')
  await leaveCommand(settingsOf(apart))
  const alone = await openTestHost(apart, join(base, 'repository'), {
    settings: { secretKeyFile: join(base, 'key') },
  })
  await alone.host.close()
  await assert.rejects(
    restore(apart),
    /^Error: A host was started in .*apart without the fleet test \(event \d+\), .* Nothing was changed; /,
  )
  assert.match((await joinCommand(settingsOf(apart))).text, /begins with the journal of .*apart/)
  const c = await stage.start('c')
  const history = await idsOf(c)
  await c.host.close()
  await putBack()
  assert.match(await restore(c.directory), /has the events \d+ to \d+ again/)
  const found = await idsOf(await stage.start('c'))
  assert.deepEqual(
    history.filter((id) => !found.includes(id)),
    [],
  )
})
