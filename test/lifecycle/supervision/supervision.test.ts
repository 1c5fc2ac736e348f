import assert from 'node:assert/strict'
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { type FileSystem, systemFileSystem } from '../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createHost } from '../../../src/host/host.ts'
import { StartInterrupted } from '../../../src/host/interrupted-start.ts'
import { readSystemBoot } from '../../../src/host/system-boot.ts'
import { openJournal } from '../../../src/journal/journal.ts'
import type { RestartPolicy } from '../../../src/lifecycle/loading/restart-policy.ts'
import { orderlyUnloadTime } from '../../../src/lifecycle/supervision/startup.ts'
import type { HostFact } from '../../../src/schema/journal/journal-event.ts'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { generousTime } from '../../helpers/generous-time.ts'
import { holdReconciler } from '../../helpers/held-reconciler.ts'
import {
  command,
  installAndStart,
  logMessages,
  nextFact,
  openTestHost,
  startHostFor,
  type TestHost,
  type TestHostOptions,
  testSettings,
} from '../../helpers/test-host.ts'

const programDirectory = join(import.meta.dirname, '..', '..', '..')

/** Restarts at once; nothing is stable unless a test waits for it. */
const hasty: RestartPolicy = {
  budget: 3,
  stableAfter: 600_000,
  firstDelay: 1,
  longestDelay: 1,
  jitter: 0,
}

const lua = (id: string, body: string): string => `local p = Plugin:new("${id}")\n${body}\n`
/** A setter that takes all memory there is. */
const bomb =
  'p:control("go", function() return 0 end, function() local t = {} while true do t[#t + 1] = {{}, {}} end end)'

async function start(context: TestContext, options: TestHostOptions): Promise<TestHost> {
  // In a worker of its own a plugin that takes all memory crashes; in a shared one it is moved first.
  return await startHostFor(context, {
    limits: generousTime,
    settings: { isolation: 'dedicated' },
    ...options,
  })
}

async function running(host: TestHost, id: string, config = {}): Promise<void> {
  await command(host, 'install', { fullId: `@fixtures/${id}` })
  await command(host, `${id}/config`, { config })
  await command(host, `${id}/toggle`, { enabled: true })
}

function crash(host: TestHost, id: string): void {
  void host.request('PUT', `/api/plugins/${id}/controls/go`, { body: { value: 1 } }).catch(() => undefined)
}

async function plugin(host: TestHost, id: string) {
  return (await host.request('GET', `/api/plugins/${id}`)).body
}

test('a plugin that keeps crashing is restarted until its budget is spent, over a restart of the host too', async (context) => {
  const body = `p:onInit(function(config) p:log("info", "key " .. config.apiKey) end)\n${bomb}`
  const manifest = { configSchema: [{ key: 'apiKey', type: 'string', label: 'Key' }] }
  const host = await start(context, {
    plugins: [{ id: 'x', lua: lua('x', body), manifest }],
    restartPolicy: hasty,
  })
  await running(host, 'x', { apiKey: 'hunter2-canary' })
  const back = nextFact(host, 'PluginLoaded')
  const first = nextFact(host, 'PluginCrashed')
  crash(host, 'x')
  assert.deepEqual([(await first).data.crashes, (await first).data.restart], [1, { attempt: 1, delay: 1 }])
  await back
  const again = await host.restart()
  assert.equal((await plugin(again, 'x')).crashes, 1)
  for (const crashes of [2, 3]) {
    const loaded = crashes === 2 ? nextFact(again, 'PluginLoaded') : undefined
    const crashed = nextFact(again, 'PluginCrashed')
    crash(again, 'x')
    assert.equal((await crashed).data.crashes, crashes)
    await loaded
  }
  const { state, error, crashes, restart } = await plugin(again, 'x')
  assert.deepEqual([state, crashes, restart], ['failed', 3, null])
  const lines: string[] = error.log.map(({ message }: { message: string }) => message)
  assert.ok(lines.some((line) => line.startsWith('key ')))
  assert.ok(lines.some((line) => line.startsWith('The plugin ended by itself')))
  assert.doesNotMatch(JSON.stringify(error), /hunter2-canary/)
  // Somebody takes care: the budget is whole again.
  assert.deepEqual(
    [(await command(again, 'x/reload')).state, (await plugin(again, 'x')).crashes],
    ['running', 0],
  )
})

test('a run that is long enough makes the crash budget whole again', async (context) => {
  const host = await start(context, {
    plugins: [{ id: 'x', lua: lua('x', bomb) }],
    restartPolicy: { ...hasty, stableAfter: 5 },
  })
  await running(host, 'x')
  const stable = nextFact(host, 'PluginStabilized')
  crash(host, 'x')
  await stable
  assert.equal((await plugin(host, 'x')).crashes, 0)
})

/** A host with a disk that refuses what the journal writes after a fact, until that was told. */
async function startOnDisk(context: TestContext, restartPolicy: RestartPolicy) {
  const disk = { refuses: false }
  const files = failingFileSystem(
    (operation, path) => disk.refuses && operation === 'datasync' && path.endsWith('.host.journal'),
  )
  const { clock, logger, goOn, says } = holdReconciler()
  const plugins = [{ id: 'x', lua: lua('x', bomb) }]
  const host = await start(context, { files, clock, logger, plugins, restartPolicy })
  const refuseAfter = (type: string): void => {
    const stop = host.host.lifecycle.subscribe((announcement) => {
      if (announcement.kind !== 'lifecycle' || announcement.event.type !== type) return
      stop()
      disk.refuses = true
    })
  }
  /** Once it was told there is room, and what was refused becomes a fact. */
  const madeUpFor = async (failure: string, type: string): Promise<void> => {
    await says(failure)
    disk.refuses = false
    const fact = nextFact(host, type)
    goOn()
    await fact
  }
  return { host, refuseAfter, madeUpFor }
}

test('a restart after a crash that the disk refuses is made up for when there is room, without a command', async (context) => {
  const { host, refuseAfter, madeUpFor } = await startOnDisk(context, hasty)
  await running(host, 'x')
  refuseAfter('PluginCrashed')
  crash(host, 'x')
  await madeUpFor('A plugin could not be restarted', 'PluginLoaded')
  assert.equal((await plugin(host, 'x')).state, 'running')
})

test('the end of a trial that the disk refuses is written down when there is room', async (context) => {
  const { host, refuseAfter, madeUpFor } = await startOnDisk(context, { ...hasty, stableAfter: 5 })
  await running(host, 'x')
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', '') }])
  refuseAfter('PluginLoaded')
  await host.request('POST', '/api/plugins/x/update', { body: {} })
  await madeUpFor('A stable run could not be written down', 'PluginStabilized')
  assert.equal((await plugin(host, 'x')).trial, null)
})

test('a plugin that had failed before, and whose load at the start the disk refuses, is loaded when there is room', async (context) => {
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', 'error("always")') }] })
  await running(host, 'x')
  await host.host.close()
  let appends = 0
  const files = failingFileSystem((operation, path) => {
    if (operation !== 'datasync' || !path.endsWith('.host.journal')) return false
    appends += 1
    // The one after that of the host's own start.
    return appends === 2
  })
  const { clock, logger, goOn, says } = holdReconciler()
  const again = await openTestHost(host.directory, host.repository, { files, clock, logger })
  context.after(() => again.host.close())
  const failed = nextFact(again, 'PluginLoadFailed')
  await says('A plugin could not be started')
  goOn()
  assert.equal((await failed).by, 'supervisor')
})

test('an update that crashes in its trial goes back to the version and the config before, after a restart too', async (context) => {
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await running(host, 'x', { a: 1 })
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', bomb) }])
  assert.equal((await command(host, 'x/update', {})).trial.from, '1.0.0')
  await command(host, 'x/config', { config: { a: 2 } })
  const again = await host.restart()
  assert.deepEqual(
    [(await plugin(again, 'x')).version, (await plugin(again, 'x')).trial.from],
    ['2.0.0', '1.0.0'],
  )
  const back = nextFact(again, 'PluginLoaded')
  crash(again, 'x')
  await back
  const { version, state, config, trial } = await plugin(again, 'x')
  assert.deepEqual([version, state, config, trial], ['1.0.0', 'running', { a: 1 }, null])
  // What was tried is not lost.
  const { versions } = (await again.request('GET', '/api/plugins/x/versions')).body
  assert.deepEqual(
    versions.map((entry: any) => [entry.version, entry.current, entry.available, entry.config]),
    [
      ['1.0.0', true, true, { a: 1 }],
      ['2.0.0', false, true, { a: 2 }],
    ],
  )
})

test('an update that hardly ran before its host was paused is still on trial', async (context) => {
  let paused = 0
  const ends = new Set<() => void>()
  const clock: Clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + paused,
    schedule(milliseconds, callback) {
      if (milliseconds !== hasty.stableAfter) return systemClock.schedule(milliseconds, callback)
      ends.add(callback)
      return { cancel: () => void ends.delete(callback) }
    },
  }
  const host = await start(context, {
    clock,
    plugins: [{ id: 'x', lua: lua('x', '') }],
    restartPolicy: hasty,
  })
  await running(host, 'x')
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', bomb) }])
  await command(host, 'x/update', {})
  paused = 3_600_000
  const [end] = ends
  assert.ok(end !== undefined)
  ends.delete(end)
  end()
  // As a command that waits for what was begun before it.
  await command(host, 'x/config', { config: { a: 1 } })
  assert.equal((await plugin(host, 'x')).trial?.from, '1.0.0')
  const back = nextFact(host, 'PluginLoaded')
  crash(host, 'x')
  await back
  assert.equal((await plugin(host, 'x')).version, '1.0.0')
})

test('an update that crashes after its trial stays, and is restarted', async (context) => {
  const host = await start(context, {
    plugins: [{ id: 'x', lua: lua('x', '') }],
    restartPolicy: { ...hasty, stableAfter: 5 },
  })
  await running(host, 'x')
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', bomb) }])
  const stable = nextFact(host, 'PluginStabilized')
  await command(host, 'x/update', {})
  await stable
  const again = nextFact(host, 'PluginLoaded')
  crash(host, 'x')
  await again
  const { version, trial } = await plugin(host, 'x')
  assert.deepEqual([version, trial], ['2.0.0', null])
})

test('a version says when it came, whatever is changed since, and one that is kept when it was replaced', async (context) => {
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', '-- 1.0.0') }] })
  await running(host, 'x')
  const moments = async (): Promise<string[]> => {
    await command(host, 'x/config', { config: { a: Math.random() } })
    const { body } = await host.request('GET', '/api/plugins/x/versions')
    return body.versions.map((entry: any) => entry.at)
  }
  const momentOf = async (type: string): Promise<string> => {
    const { body } = await host.request('GET', '/api/plugins/x/history')
    return body.events.find((event: any) => event.type === type).at
  }
  const installed = await momentOf('PluginInstalled')
  assert.deepEqual(await moments(), [installed])
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', '-- 2.0.0') }])
  await command(host, 'x/update', {})
  const updated = await momentOf('PluginUpdated')
  assert.deepEqual(await moments(), [updated, updated])
  await command(host, 'x/rollback', {})
  const returned = await momentOf('PluginRolledBack')
  assert.deepEqual(await moments(), [returned, returned])
})

test('the last three versions can be returned to by name, and purging removes them', async (context) => {
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', '-- 1.0.0') }] })
  await running(host, 'x')
  for (const version of ['2.0.0', '3.0.0', '4.0.0', '5.0.0']) {
    await host.publish([{ id: 'x', version, lua: lua('x', `-- ${version}`) }])
    await command(host, 'x/update', {})
  }
  const versions = async (): Promise<string[]> => {
    const { body } = await host.request('GET', '/api/plugins/x/versions')
    return body.versions.map((entry: any) => `${entry.version} ${entry.available}`)
  }
  assert.deepEqual(await versions(), ['5.0.0 true', '4.0.0 true', '3.0.0 true', '2.0.0 true'])
  assert.equal((await readdir(join(host.directory, 'plugins/.older/fixtures--x'))).length, 2)
  const refused = await host.request('POST', '/api/plugins/x/rollback', { body: { version: '1.0.0' } })
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
  assert.match(refused.body.detail, /4\.0\.0, 3\.0\.0, 2\.0\.0/)
  const back = await command(host, 'x/rollback', { version: '2.0.0' })
  assert.deepEqual([back.version, back.state], ['2.0.0', 'running'])
  assert.match(await readFile(join(host.directory, 'plugins/fixtures--x/init.lua'), 'utf8'), /2\.0\.0/)
  assert.deepEqual(await versions(), ['2.0.0 true', '5.0.0 true', '4.0.0 true', '3.0.0 true'])
  const removed = await host.request('DELETE', '/api/plugins/x?purge=files')
  assert.equal(removed.status, 200)
  for (const place of ['.previous', '.older'])
    assert.deepEqual(await readdir(join(host.directory, 'plugins', place)), [])
})

test('files that changed are marked where the plugin is shown, and a missing one is a clear failure', async (context) => {
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await running(host, 'x')
  assert.deepEqual((await plugin(host, 'x')).integrity, { intact: true, changed: [] })
  const file = join(host.directory, 'plugins/fixtures--x/init.lua')
  await appendFile(file, '\n-- changed\n')
  assert.deepEqual((await command(host, 'x/reload')).integrity, { intact: false, changed: ['init.lua'] })
  assert.deepEqual(await logMessages(host, 'x', '?level=warn'), ['Changed since the installation: init.lua'])
  await rm(file)
  const { state, error } = await command(host, 'x/reload')
  assert.deepEqual([state, error.code], ['failed', 'manifest_invalid'])
  assert.match(error.message, /init\.lua is missing; put it there, or update/)
})

test('a plugin that does not run for files that changed shows which they are, and none once they are back', async (context) => {
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await running(host, 'x')
  const file = join(host.directory, 'plugins/fixtures--x/init.lua')
  const installed = await readFile(file, 'utf8')
  await writeFile(file, '')
  const failed = await command(host, 'x/reload')
  assert.deepEqual([failed.state, failed.error.code], ['failed', 'lua_error'])
  assert.deepEqual(failed.integrity, { intact: false, changed: ['init.lua'] })
  const again = await host.restart()
  assert.deepEqual((await plugin(again, 'x')).integrity, { intact: false, changed: ['init.lua'] })
  await writeFile(file, installed)
  const back = await command(again, 'x/reload')
  assert.deepEqual([back.state, back.integrity], ['running', { intact: true, changed: [] }])
})

test('what somebody edits in a plugin that was installed again stays, and is told', async (context) => {
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await running(host, 'x')
  await host.request('DELETE', '/api/plugins/x')
  await running(host, 'x')
  const file = join(host.directory, 'plugins/fixtures--x/init.lua')
  await appendFile(file, '\n-- changed\n')
  assert.deepEqual((await command(host, 'x/reload')).integrity, { intact: false, changed: ['init.lua'] })
  assert.match(await readFile(file, 'utf8'), /-- changed/)
})

test('in safe mode everything can be changed and nothing is loaded; leaving it loads what is enabled', async (context) => {
  const host = await start(context, {
    plugins: [
      { id: 'x', lua: lua('x', '') },
      { id: 'y', lua: lua('y', '') },
    ],
    settings: { safeMode: true },
  })
  const { body: system } = await host.request('GET', '/api/system')
  const { cause, reason, since } = system.host.safeMode
  assert.deepEqual([cause, reason, typeof since], ['asked', 'The host was started with --safe.', 'string'])
  const ready = await host.request('GET', '/readyz')
  assert.deepEqual([ready.status, ready.body.ready, ready.body.safeMode.cause], [200, true, 'asked'])
  await running(host, 'x')
  await running(host, 'y')
  await command(host, 'x/config', { config: { a: 1 } })
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', '-- new') }])
  await command(host, 'x/update', {})
  await command(host, 'y/toggle', { enabled: false })
  const { state, enabled, version } = await plugin(host, 'x')
  assert.deepEqual([state, enabled, version], ['unloaded', true, '2.0.0'])
  const refused = await host.request('POST', '/api/plugins/x/reload')
  assert.deepEqual([refused.status, refused.body.code], [409, 'invalid_transition'])
  const wrong = await host.request('POST', '/api/system/safe-mode', { body: { enabled: true } })
  assert.deepEqual([wrong.status, wrong.body.code], [400, 'body_invalid'])
  const left = await host.request('POST', '/api/system/safe-mode', { body: { enabled: false } })
  assert.deepEqual([left.status, left.body], [200, { safeMode: null }])
  const found = [await plugin(host, 'x'), await plugin(host, 'y')]
  assert.deepEqual(
    found.map((shown) => [shown.state, shown.version, shown.config]),
    [
      ['running', '2.0.0', { a: 1 }],
      ['unloaded', '1.0.0', {}],
    ],
  )
  const before = host.host.lifecycle.lastSeq
  await host.request('POST', '/api/system/safe-mode', { body: { enabled: false } })
  assert.equal(host.host.lifecycle.lastSeq, before)
})

test('an update in safe mode of a plugin that has failed stays, and is shown as one that has not been loaded yet', async (context) => {
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', 'error("of the first")') }] })
  await running(host, 'x')
  assert.match((await plugin(host, 'x')).error.message, /of the first/)
  const safe = await restartSafely(host)
  await host.publish([{ id: 'x', version: '2.0.0', lua: lua('x', '') }])
  const updated = await command(safe, 'x/update', {})
  assert.deepEqual([updated.state, updated.version, updated.error.code], ['failed', '2.0.0', 'not_loaded'])
  assert.match(updated.error.message, /^Version 2\.0\.0 has not been loaded yet: /)
  const back = await command(safe, 'x/rollback')
  assert.deepEqual([back.state, back.version, back.error.code], ['failed', '1.0.0', 'not_loaded'])
  await command(safe, 'x/rollback')
  await safe.request('POST', '/api/system/safe-mode', { body: { enabled: false } })
  const { state, version, error } = await plugin(safe, 'x')
  assert.deepEqual([state, version, error], ['running', '2.0.0', null])
})

test('two who leave safe mode at once have both done so', async (context) => {
  const host = await start(context, {
    plugins: [{ id: 'x', lua: lua('x', '') }],
    settings: { safeMode: true },
  })
  await running(host, 'x')
  const leave = () => host.request('POST', '/api/system/safe-mode', { body: { enabled: false } })
  const both = await Promise.all([leave(), leave()])
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  )
  assert.equal((await plugin(host, 'x')).state, 'running')
})

test('who leaves safe mode while the end of the host is being written down is told that it stops', async (context) => {
  const host = await start(context, { settings: { safeMode: true } })
  const { lifecycle } = host.host
  const ending = lifecycle.record([{ type: 'HostStopping', plugin: null, data: {} }], 'shutdown')
  await assert.rejects(lifecycle.leaveSafeMode({ by: 'http' }), { code: 'shutting_down' })
  await ending
})

/** Of a host that is closed; the caller closes it. */
function journalOf({ directory }: TestHost): ReturnType<typeof openJournal> {
  return openJournal({ directory, files: systemFileSystem, clock: systemClock, logger: silentLogger })
}

/** Starts it again as after three starts that did not reach ready. */
async function restartSafely(host: TestHost): Promise<TestHost> {
  await host.host.close()
  const journal = await journalOf(host)
  const begun: HostFact = { type: 'HostStarted', plugin: null, data: { host: 'h', hostVersion: '1.0.0' } }
  await journal.append([begun, begun, begun], 'startup')
  await journal.close()
  return host.restart()
}

test('three starts that did not reach ready make the next one safe, and the one after that is ordinary', async (context) => {
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await running(host, 'x')
  const safe = await restartSafely(host)
  const { body } = await safe.request('GET', '/api/system')
  assert.equal(body.host.safeMode.cause, 'unfinishedStarts')
  assert.match(body.host.safeMode.reason, /3 starts/)
  assert.equal((await plugin(safe, 'x')).state, 'unloaded')
  const ordinary = await safe.restart()
  assert.equal((await plugin(ordinary, 'x')).state, 'running')
})

test('a start in safe mode has no worker ready for plugins that are on, as it loads none of them', async (context) => {
  const host = await start(context, {
    plugins: [{ id: 'x', lua: lua('x', '') }],
    settings: { isolation: 'shared' },
  })
  await running(host, 'x')
  const safe = await restartSafely(host)
  await safe.request('POST', '/api/system/safe-mode', { body: { enabled: false } })
  const { body } = await safe.request('GET', '/api/system')
  assert.deepEqual(
    body.isolates.map((isolate: { worker: number }) => isolate.worker),
    // There was none before it.
    [1],
  )
})

test('a host that the system kills for want of memory soon after each start is safe in its fourth', async (context) => {
  const killsOf = (kills: number) => ({
    ...systemFileSystem,
    readFile: (async (path: string, options: BufferEncoding) =>
      path === '/proc/vmstat'
        ? `pgfault 1\noom_kill ${kills}\nballoon_inflate 0\n`
        : systemFileSystem.readFile(path, options)) as FileSystem['readFile'],
  })
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', '') }], files: killsOf(4) })
  await running(host, 'x')
  await host.host.close()
  const journal = await journalOf(host)
  const machine = await readSystemBoot(killsOf(3))
  assert.ok(machine)
  const begun: HostFact = { type: 'HostStarted', plugin: null, data: { host: 'h', hostVersion: '1.0.0' } }
  const again: HostFact = { ...begun, data: { ...begun.data, afterMemoryKill: true } }
  const ready: HostFact = { type: 'HostReady', plugin: null, data: { machine } }
  await journal.append([begun, ready, again, ready, again, ready], 'startup')
  await journal.close()
  const safe = await host.restart()
  const { body } = await safe.request('GET', '/api/system')
  assert.equal(body.host.safeMode.cause, 'unfinishedStarts')
  assert.match(body.host.safeMode.reason, /3 starts .* want of memory/)
  assert.equal((await plugin(safe, 'x')).state, 'unloaded')
  const ordinary = await safe.restart()
  assert.equal((await plugin(ordinary, 'x')).state, 'running')
})

test('a start that is ended while a plugin loads ends at once, in order, and does not count as unfinished', async (context) => {
  const host = await start(context, { plugins: [{ id: 'x', lua: lua('x', '') }] })
  await running(host, 'x')
  await host.host.close()
  await writeFile(join(host.directory, 'plugins/fixtures--x/init.lua'), lua('x', 'while true do end'))
  const interrupt = new AbortController()
  // As the load begins: the loop lets nothing out.
  const watched = {
    ...silentLogger,
    warn(message: string) {
      if (message.startsWith('Files of a plugin have changed')) setImmediate(() => interrupt.abort())
    },
  }
  const begun = performance.now()
  await assert.rejects(
    createHost({
      settings: testSettings(host.directory),
      logger: watched,
      programDirectory,
      hostVersion: '99.0.0',
      environment: {},
      interrupt: interrupt.signal,
      // A load may take longer than the test: it must not be waited for.
      limits: { loadTime: 600_000, loadDeadline: 600_000 },
    }),
    StartInterrupted,
  )
  assert.ok(performance.now() - begun < 300_000)
  const journal = await journalOf(host)
  const last = journal.read({ after: journal.state.seq - 3, limit: 3 })
  assert.deepEqual(last.map(({ type, data }) => [type, data]).sort(), [
    ['HostStopped', {}],
    ['HostStopping', {}],
    ['PluginUnloaded', { reason: 'shutdown' }],
  ])
  assert.equal(journal.state.host.context.unfinishedStarts, 0)
  await journal.close()
})

test('a key-value store that cannot be read keeps its plugin from loading, with the reason, and no other', async (context) => {
  const plugins = ['x', 'y'].map((id) => ({ id, lua: lua(id, '') }))
  const host = await start(context, { plugins })
  await running(host, 'x')
  await running(host, 'y')
  // In place of a file of another user, which root could read.
  await mkdir(join(host.directory, '.kv', 'fixtures--x.json'), { recursive: true })
  const again = await host.restart()
  const { state, error } = await plugin(again, 'x')
  assert.equal(state, 'failed')
  assert.match(error.message, /fixtures--x\.json cannot be read \(EISDIR\): correct/)
  assert.equal((await plugin(again, 'y')).state, 'running')
})

test('at the end of the host who comes last in a chain of dependencies does not wait for ever for those before it', async (context) => {
  /** Of the wait for an orderly end. */
  let hurry: (() => void) | undefined
  const clock: Clock = {
    ...systemClock,
    schedule(milliseconds, callback) {
      if (milliseconds !== orderlyUnloadTime) return systemClock.schedule(milliseconds, callback)
      hurry = callback
      return { cancel: () => undefined }
    },
  }
  const slow = (id: string, ...dependencies: string[]): FixturePlugin => ({
    ...{ id, lua: lua(id, 'p:onCleanup(function() while true do end end)') },
    manifest: { dependencies },
  })
  const host = await start(context, {
    plugins: [slow('first'), slow('second', 'first'), slow('third', 'second')],
    clock,
    limits: { ...generousTime, cleanupTime: 200 },
  })
  for (const id of ['first', 'second', 'third']) await running(host, id)
  const facts: string[] = []
  host.host.lifecycle.subscribe((announcement) => {
    if (announcement.kind !== 'lifecycle') return
    const { type, plugin } = announcement.event
    if (type === 'PluginUnloadRequested' || type === 'PluginUnloaded') facts.push(`${type} ${plugin}`)
    // While the first of them is still at it.
    hurry?.()
  })
  await host.host.close()
  assert.deepEqual(facts.slice(0, 3).sort(), [
    'PluginUnloadRequested @fixtures/first',
    'PluginUnloadRequested @fixtures/second',
    'PluginUnloadRequested @fixtures/third',
  ])
  assert.equal(facts.length, 6)
})

test('a request that comes again while plugins are loaded in their order changes nothing about that', async (context) => {
  const settings = { safeMode: false }
  const first = await startHostFor(context, {
    settings,
    plugins: [
      { id: 'needed', lua: 'for i = 1, 5000000 do end Plugin:new("needed")' },
      { id: 'needs', lua: 'Plugin:new("needs")', manifest: { dependencies: ['@fixtures/needed'] } },
    ],
  })
  await installAndStart(first, 'needed')
  await command(first, 'install', { fullId: '@fixtures/needs' })
  const toggle = (host: TestHost) =>
    host.request('POST', '/api/plugins/needs/toggle', { headers: { 'idempotency-key': 'once' } })
  assert.equal((await toggle(first)).body.state, 'running')
  settings.safeMode = true
  const host = await first.restart()
  const begun = nextFact(host, 'PluginLoadRequested')
  const left = host.request('POST', '/api/system/safe-mode', { body: { enabled: false } })
  assert.equal((await begun).plugin, '@fixtures/needed')
  const again = await toggle(host)
  assert.deepEqual([again.status, again.body.enabled], [200, true])
  await left
  const { events } = (await host.request('GET', '/api/plugins/needs/history')).body
  const { type, by } = events.findLast((event: any) => event.type === 'PluginLoadRequested')
  assert.deepEqual([type, by], ['PluginLoadRequested', 'http'])
})
