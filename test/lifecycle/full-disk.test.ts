import assert from 'node:assert/strict'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type FileOperation, failingFileSystem } from '../helpers/failing-file-system.ts'
import { holdReconciler } from '../helpers/held-reconciler.ts'
import { installAndStart, logMessages, startHostFor, type TestHostOptions } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'

/** A host whose disk is full whenever `disk.full` says so. */
async function startWithDisk(context: TestContext, options: TestHostOptions = {}) {
  const disk: { full: false | ((operation: FileOperation, path: string) => boolean) } = { full: false }
  const files = failingFileSystem((operation, path) => disk.full !== false && disk.full(operation, path))
  const host = await startHostFor(context, { ...options, files })
  const post = (path: string, body?: unknown, headers: Record<string, string> = {}) =>
    host.request('POST', `/api/plugins/${path}`, { headers, ...(body === undefined ? {} : { body }) })
  return { host, disk, post }
}

const writes: ReadonlySet<FileOperation> = new Set(['write', 'writeFile', 'datasync', 'sync'])
/** Refuses what the journal appends, from the append with this number on (from 1), up to `last`. */
function refuseAppendsFrom(first: number, last = Infinity) {
  let appends = 0
  return (operation: FileOperation, path: string): boolean => {
    if (operation !== 'datasync' || !path.endsWith('.host.journal')) return false
    appends += 1
    return appends >= first && appends <= last
  }
}

const refuseAppend = (which: number) => refuseAppendsFrom(which, which)

const anyWrite = (operation: FileOperation): boolean => writes.has(operation)

test('on a full disk a command is refused with 507 and changes nothing, reading goes on, and later it works', async (context) => {
  const { host, disk, post } = await startWithDisk(context)
  await post('install', { fullId: '@fixtures/hello' })
  await post('hello/config', { config: { name: 'before' } })
  const before = (await host.request('GET', '/api/plugins/hello')).body
  const file = await readFile(join(host.directory, '.host.json'), 'utf8')
  disk.full = anyWrite
  for (const [path, body] of [
    ['hello/config', { config: { name: 'after' } }],
    ['hello/toggle', undefined],
    ['install', { fullId: '@fixtures/demo' }],
  ] as const) {
    const refused = await post(path, body)
    assert.deepEqual([path, refused.status, refused.body.code], [path, 507, 'storage_full'])
  }
  assert.deepEqual((await host.request('GET', '/api/plugins/hello')).body, before)
  assert.equal(await readFile(join(host.directory, '.host.json'), 'utf8'), file)
  disk.full = false
  const after = await post('hello/config', { config: { name: 'after' } })
  assert.deepEqual([after.status, after.body.config.name], [200, 'after'])
  assert.equal((await post('install', { fullId: '@fixtures/demo' })).status, 201)
})

test('an installation whose files cannot be put in place is written down as one that failed, and can be repeated', async (context) => {
  const { host, disk, post } = await startWithDisk(context)
  disk.full = (operation, path) => operation === 'rename' && path.endsWith('fixtures--demo')
  const refused = await post('install', { fullId: '@fixtures/demo' })
  assert.deepEqual([refused.status, refused.body.code], [507, 'storage_full'])
  const { events } = (await host.request('GET', '/api/plugins/@fixtures/demo/history')).body
  assert.deepEqual(
    events.map(({ type, data }: any) => [type, data.error?.code]),
    [
      ['PluginInstallRequested', undefined],
      ['PluginInstallFailed', 'storage_full'],
    ],
  )
  disk.full = false
  assert.equal((await post('install', { fullId: '@fixtures/demo' })).status, 201)
})

test('an installation whose files could not be put in place is carried out when its request comes again', async (context) => {
  const { disk, post } = await startWithDisk(context)
  disk.full = (operation, path) => operation === 'rename' && path.endsWith('fixtures--demo')
  const install = () => post('install', { fullId: '@fixtures/demo' }, { 'idempotency-key': 'once' })
  assert.equal((await install()).status, 507)
  disk.full = false
  const again = await install()
  assert.deepEqual([again.status, again.body.state], [201, 'installed'])
})

test('a request that comes again after its load could not be written down is answered when the plugin has been loaded', async (context) => {
  const { host, disk, post } = await startWithDisk(context)
  await post('install', { fullId: '@fixtures/demo' })
  disk.full = refuseAppendsFrom(2)
  const toggle = () => post('demo/toggle', undefined, { 'idempotency-key': 'once' })
  assert.equal((await toggle()).status, 507)
  assert.equal((await toggle()).status, 507)
  disk.full = false
  const again = await toggle()
  assert.deepEqual([again.status, again.body.enabled, again.body.state], [200, true, 'running'])
  const { events } = (await host.request('GET', '/api/plugins/demo/history')).body
  const switches = events.filter(({ type }: { type: string }) => type === 'PluginEnabled')
  assert.equal(switches.length, 1)
})

test('an uninstallation that could not remove the files is not answered as done until its request has removed them', async (context) => {
  const { host, disk, post } = await startWithDisk(context)
  await post('install', { fullId: '@fixtures/hello' })
  const folder = join(host.directory, 'plugins', 'fixtures--hello')
  disk.full = (operation, path) => operation === 'rename' && path.includes('.staging')
  const uninstall = () =>
    host.request('DELETE', '/api/plugins/@fixtures/hello?purge=files', {
      headers: { 'idempotency-key': 'once' },
    })
  assert.equal((await uninstall()).status, 507)
  assert.equal((await uninstall()).status, 507)
  disk.full = false
  const again = await uninstall()
  assert.deepEqual([again.status, again.body], [200, { id: '@fixtures/hello', state: 'uninstalled' }])
  await assert.rejects(readdir(folder), { code: 'ENOENT' })
})

test('a load whose outcome cannot be written down does not run, and can be repeated', async (context) => {
  const { host, disk, post } = await startWithDisk(context)
  await post('install', { fullId: '@fixtures/demo' })
  disk.full = refuseAppend(2)
  const refused = await post('demo/toggle', { enabled: true })
  assert.deepEqual([refused.status, refused.body.code], [507, 'storage_full'])
  const { enabled, resources } = (await host.request('GET', '/api/plugins/demo')).body
  assert.deepEqual([enabled, resources.timers, resources.objects], [true, 0, 0])
  disk.full = false
  const again = await post('demo/reload')
  assert.deepEqual([again.status, again.body.state], [200, 'running'])
})

test('a load whose outcome could not be written down is made up for when there is room, without a command', async (context) => {
  const disk = { full: false, appends: 0 }
  const files = failingFileSystem((operation, path) => {
    if (operation !== 'datasync' || !path.endsWith('.host.journal')) return false
    disk.appends += 1
    return disk.full && disk.appends > 1
  })
  const { clock, logger, goOn, says } = holdReconciler()
  const host = await startHostFor(context, { files, clock, logger })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/demo' } })
  Object.assign(disk, { full: true, appends: 0 })
  const refused = await host.request('POST', '/api/plugins/demo/toggle', { body: { enabled: true } })
  assert.deepEqual([refused.status, refused.body.code], [507, 'storage_full'])
  assert.equal((await host.request('GET', '/api/plugins/demo')).body.state, 'loading')
  // Still full.
  goOn()
  await says('What had been left undone for a plugin still cannot be done')
  assert.equal((await host.request('GET', '/api/plugins/demo')).body.state, 'loading')
  disk.full = false
  goOn()
  await says('What had been left undone for a plugin is done')
  const { state, enabled } = (await host.request('GET', '/api/plugins/demo')).body
  assert.deepEqual([state, enabled], ['running', true])
  const { events } = (await host.request('GET', '/api/plugins/demo/history')).body as {
    events: { type: string; by: string }[]
  }
  assert.deepEqual(
    events.slice(-3).map(({ type, by }) => [type, by]),
    [
      ['PluginUnloaded', 'supervisor'],
      ['PluginLoadRequested', 'supervisor'],
      ['PluginLoaded', 'supervisor'],
    ],
  )
})

test('a plugin whose missing files do not fit on the disk is loaded when there is room, without a command', async (context) => {
  const { clock, logger, goOn, says } = holdReconciler()
  const { host, disk, post } = await startWithDisk(context, { clock, logger })
  await installAndStart(host, 'demo')
  await rm(join(host.directory, 'plugins', 'fixtures--demo'), { recursive: true })
  disk.full = (operation, path) => operation === 'writeFile' && path.includes('.staging')
  const { status, body } = await post('demo/reload')
  assert.deepEqual([status, body.state, body.error.code], [200, 'failed', 'storage_full'])
  disk.full = false
  goOn()
  await says('What had been left undone for a plugin is done')
  assert.equal((await host.request('GET', '/api/plugins/demo')).body.state, 'running')
})

test('an update whose load the disk did not let begin is loaded when the same update is asked for again', async (context) => {
  const disk = { fails: false }
  const files = failingFileSystem(
    (operation, path) =>
      disk.fails && operation === 'readFile' && path.endsWith(join('.kv', 'fixtures--x.json')) && 'EIO',
    { questions: true },
  )
  const { clock, logger } = holdReconciler()
  const version = (number: number) => [{ id: 'x', version: `${number}.0.0`, lua: 'Plugin:new("x")' }]
  const host = await startHostFor(context, { files, clock, logger, plugins: version(1) })
  await installAndStart(host, 'x')
  await host.publish(version(2))
  disk.fails = true
  const update = () => host.request('POST', '/api/plugins/x/update', { body: {} })
  const failed = await update()
  assert.deepEqual([failed.status, failed.body.version, failed.body.state], [200, '2.0.0', 'failed'])
  disk.fails = false
  const again = await update()
  assert.deepEqual([again.status, again.body.version, again.body.state], [200, '2.0.0', 'running'])
})

for (const { path, renames } of [
  // Neither the way forward nor the way back: the disk fails in the middle of it.
  { path: 'x/update', renames: 2 },
  { path: 'x/rollback', renames: 0 },
]) {
  test(`the files of a plugin that is switched off are those of its version, some time after the disk refused ${path}`, async (context) => {
    const { clock, logger, goOn, says } = holdReconciler()
    const version = (number: number) => [{ id: 'x', version: `${number}.0.0`, lua: 'Plugin:new("x")' }]
    const { host, disk, post } = await startWithDisk(context, { clock, logger, plugins: version(1) })
    await post('install', { fullId: '@fixtures/x' })
    await host.publish(version(2))
    await post('x/update', {})
    await host.publish(version(3))
    let count = 0
    disk.full = (operation) => {
      if (operation === 'rename') count += 1
      return operation === 'rename' && count > renames
    }
    assert.equal((await post(path, {})).status, 507)
    const inFolder = async (): Promise<string> =>
      JSON.parse(await readFile(join(host.directory, 'plugins', 'fixtures--x', 'plugin.json'), 'utf8'))
        .version
    const shown = (await host.request('GET', '/api/plugins/x')).body.version
    assert.notEqual(await inFolder(), shown)
    disk.full = false
    goOn()
    await says('What had been left undone for a plugin is done')
    assert.equal(await inFolder(), shown)
  })
}

test('a plugin that had failed, and whose update the disk did not let load, is not said to wait for the end of safe mode alone', async (context) => {
  const { host, disk, post } = await startWithDisk(context, {
    plugins: [{ id: 'x', lua: 'error("of the first")' }],
  })
  await installAndStart(host, 'x')
  await host.publish([{ id: 'x', version: '2.0.0', lua: 'Plugin:new("x")' }])
  disk.full = refuseAppend(2)
  assert.equal((await post('x/update', {})).status, 507)
  const { state, version, error } = (await host.request('GET', '/api/plugins/x')).body
  assert.deepEqual([state, version, error.code], ['failed', '2.0.0', 'not_loaded'])
  assert.match(error.message, /^Version 2\.0\.0 has not been loaded yet: .* its disk /)
})

test('a snapshot that cannot be written is no loss: the journal has the change, and readyz says what is wrong', async (context) => {
  const { host, disk, post } = await startWithDisk(context)
  await post('install', { fullId: '@fixtures/hello' })
  disk.full = (operation, path) => operation === 'rename' && path.endsWith('.host.json')
  assert.equal((await post('hello/config', { config: { name: 'kept' } })).status, 200)
  const readiness = await host.request('GET', '/readyz')
  assert.equal(readiness.status, 503)
  assert.match(JSON.stringify(readiness.body), /\.host\.json cannot be written/)
  disk.full = false
  const again = await host.restart()
  assert.equal((await again.request('GET', '/api/plugins/hello')).body.config.name, 'kept')
})

test('what a plugin has stored and the disk does not take is told by readyz and in the log of the plugin, until it does', async (context) => {
  const lua = `local p = Plugin:new("meter")
p:control("n", function() return p:kvGet("n", 0) end, function(value) p:kvSet("n", value) end)`
  const { host, disk } = await startWithDisk(context, { plugins: [{ id: 'meter', lua }] })
  await installAndStart(host, 'meter')
  const ready = () => host.request('GET', '/readyz')
  disk.full = anyWrite
  await host.request('PUT', '/api/plugins/meter/controls/n', { body: { value: 7 } })
  const { body } = await until('the values that cannot be written', async () => {
    const answer = await ready()
    return answer.status === 503 && answer
  })
  const reason =
    'The disk of the data directory is full; free some space, or delete files where df -i shows that no more fit, and try again.'
  assert.deepEqual(body.reasons, [`the stored values of @fixtures/meter cannot be written: ${reason}`])
  assert.match(
    (await logMessages(host, 'meter')).join('\n'),
    /^The stored values cannot be written, .+ is full/m,
  )
  disk.full = false
  await until('a host in order', async () => (await ready()).status === 200)
  const again = await host.restart()
  assert.equal((await again.request('GET', '/api/plugins/meter/controls')).body.controls[0].value, 7)
})

test('while the host stops a command is refused with 503', async (context) => {
  const { host, post } = await startWithDisk(context)
  await post('install', { fullId: '@fixtures/demo' })
  await post('demo/toggle')
  const refused = new Promise<{ status: number; body: { code: string } }>((resolve, reject) => {
    host.host.lifecycle.subscribe((announcement) => {
      if (announcement.kind !== 'lifecycle' || announcement.event.type !== 'PluginUnloadRequested') return
      post('demo/toggle').then(resolve, reject)
    })
  })
  const closing = host.host.close()
  const { status, body } = await refused
  assert.deepEqual([status, body.code], [503, 'shutting_down'])
  await closing
})
