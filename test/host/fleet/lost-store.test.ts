import assert from 'node:assert/strict'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { readKeyFile } from '../../../src/base/keys/key-file.ts'
import { joinFleet } from '../../../src/maintenance/fleet/join-fleet.ts'
import { connectTo, startNatsServer } from '../../helpers/nats-server.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { install, stageWithDemo, untilPlugin } from './fleet-stage.ts'

test('when the store is lost for good, what any host has in its directory brings plugins, settings and secrets back', async (t) => {
  const { stage, a } = await stageWithDemo(t)
  await install(a, '@fixtures/hello')
  await a.request('POST', '/api/plugins/hello/config', { body: { config: { apiKey: 'canary' } } })
  await a.host.close()
  const base = join(a.directory, '..')
  const again = join(base, 'again')
  await mkdir(again)
  await cp(join(a.directory, '.host.json'), join(again, '.host.json'))
  await cp(join(a.directory, 'plugins'), join(again, 'plugins'), { recursive: true })
  // By itself, and running nothing.
  const alone = { settings: { fleet: undefined, safeMode: true }, directory: 'again' }
  await (await stage.start('a', alone)).host.close()

  const nats = await startNatsServer(await temporaryDirectory(t))
  t.after(() => nats.stop())
  const ring = await readKeyFile(systemFileSystem, join(base, 'key'))
  const connection = await connectTo(t, nats.url)
  const joined = await joinFleet({
    ...{ connection, fleet: 'test', directory: again, ring },
    ...{ files: systemFileSystem, clock: systemClock },
  })
  assert.deepEqual([joined.as, joined.refused], ['first', []])
  const b = await stage.start('b', { store: nats.url })
  // That the host which brought them was started safely is over.
  await untilPlugin(b, '@fixtures/demo', 'to run', ({ state }) => state === 'running')
  const { config } = await untilPlugin(b, '@fixtures/hello', 'to run', ({ state }) => state === 'running')
  assert.deepEqual(config.apiKey, '********')
  assert.equal((await b.request('GET', '/readyz')).body.safeMode, null)
})
