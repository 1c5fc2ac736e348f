import assert from 'node:assert/strict'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createPendingPurges } from '../../../src/lifecycle/stores/pending-purges.ts'
import { createDiskAccount } from '../../helpers/disk-account.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { startHostFor } from '../../helpers/test-host.ts'

const lua = `
local plugin = Plugin:new("counter")
plugin:onInit(function()
  plugin:kvSet("starts", plugin:kvGet("starts", 0) + 1)
  plugin:upsertObject("starts", { count = plugin:kvGet("starts") })
end)
`

test('what somebody has put back since an uninstallation removed it is there after a start, and is installed', async (context) => {
  let host = await startHostFor(context, { plugins: [{ id: 'counter', lua }] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/counter' } })
  await host.request('POST', '/api/plugins/counter/toggle', { body: {} })
  await host.request('POST', '/api/plugins/counter/toggle', { body: {} })
  const files = join(host.directory, 'plugins', 'fixtures--counter')
  const values = join(host.directory, '.kv', 'fixtures--counter.json')
  const saved = join(host.directory, '..', 'saved')
  await mkdir(saved)
  await cp(files, join(saved, 'files'), { recursive: true })
  await cp(values, join(saved, 'values'))
  const removed = await host.request('DELETE', '/api/plugins/counter?purge=kv,files')
  assert.equal(removed.status, 200)
  assert.deepEqual(await readdir(join(host.directory, '.kv')), [])
  await host.request('DELETE', '/api/repositories/fixtures')
  await host.host.close()
  await cp(join(saved, 'files'), files, { recursive: true })
  await cp(join(saved, 'values'), values)
  const path = join(host.directory, '.host.json')
  const file = JSON.parse(await readFile(path, 'utf8'))
  file.plugins.installed.push({ id: '@fixtures/counter', enabled: true, config: {} })
  await writeFile(path, JSON.stringify(file))
  host = await host.restart()
  const { state, version } = (await host.request('GET', '/api/plugins/counter')).body
  assert.deepEqual([state, version], ['running', '1.0.0'])
  const shown = await host.request('GET', '/api/plugins/counter/objects')
  assert.deepEqual(shown.body.objects, { starts: { count: 2 } })
})

test('what an uninstallation could not remove any more goes at the next start, and the note of it with that', async (context) => {
  let broken = true
  const files = failingFileSystem((operation, path) => broken && operation === 'rm' && path.includes('.kv'))
  let host = await startHostFor(context, { plugins: [{ id: 'counter', lua }], files })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/counter' } })
  await host.request('POST', '/api/plugins/counter/toggle', { body: {} })
  const removed = await host.request('DELETE', '/api/plugins/counter?purge=kv,files')
  assert.equal(removed.body.code, 'storage_full')
  broken = false
  const left = (): Promise<string[][]> =>
    Promise.all([
      readdir(join(host.directory, '.kv')),
      readdir(join(host.directory, '.purging')),
      readdir(join(host.directory, 'plugins')).then((names) => names.filter((name) => !name.startsWith('.'))),
    ])
  assert.deepEqual(await left(), [['fixtures--counter.json'], ['fixtures--counter'], ['fixtures--counter']])
  host = await host.restart()
  assert.deepEqual(await left(), [[], [], []])
})

test('what an uninstallation could not remove any more goes before the plugin is installed again', async (context) => {
  let broken = true
  const files = failingFileSystem((operation, path) => broken && operation === 'rm' && path.includes('.kv'))
  const host = await startHostFor(context, { plugins: [{ id: 'counter', lua }], files })
  const install = () =>
    host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/counter' } })
  await install()
  await host.request('POST', '/api/plugins/counter/toggle', { body: {} })
  const removed = await host.request('DELETE', '/api/plugins/counter?purge=kv,files')
  assert.equal(removed.body.code, 'storage_full')
  assert.equal((await install()).body.code, 'storage_full')
  broken = false
  assert.equal((await install()).status, 201)
  assert.deepEqual(await readdir(join(host.directory, '.purging')), [])
  await host.request('POST', '/api/plugins/counter/toggle', { body: {} })
  const shown = await host.request('GET', '/api/plugins/counter/objects')
  assert.deepEqual(shown.body.objects, { starts: { count: 1 } })
})

test('that a plugin is to be purged is on disk when it is said so, also where the disk refused its name at first', async (context) => {
  let broken = true
  const { files, unsynced } = createDiskAccount(
    failingFileSystem((operation, path) => broken && operation === 'sync' && path.endsWith('.purging')),
  )
  const directory = await temporaryDirectory(context)
  const purges = createPendingPurges({ directory, files, logger: silentLogger })
  await assert.rejects(purges.begin('@fixtures/counter'), /ENOSPC/)
  broken = false
  await purges.begin('@fixtures/counter')
  assert.deepEqual(unsynced(), [])
})
