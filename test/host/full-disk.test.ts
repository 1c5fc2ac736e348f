import assert from 'node:assert/strict'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { createHost, type Host } from '../../src/host/host.ts'
import { StartInterrupted } from '../../src/host/interrupted-start.ts'
import { diskRetryDelays } from '../../src/base/files/disk-retry-delays.ts'
import { isDiskFull } from '../../src/host/disk-full-retry.ts'
import { type DiskError, failingFileSystem, type FileOperation } from '../helpers/failing-file-system.ts'
import { standardFixtures, writeFixtureRepository } from '../helpers/fixture-repository.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { hostVersion, startTestHost, testSettings } from '../helpers/test-host.ts'

const writes: ReadonlySet<FileOperation> = new Set(['write', 'writeFile', 'datasync', 'sync'])

/** A data directory with a plugin that runs, and a setting that a person has changed in `.host.json` since. */
async function usedDirectory(context: TestContext): Promise<string> {
  const host = await startTestHost()
  context.after(() => host.close())
  for (const [path, body] of [
    ['install', { fullId: '@fixtures/hello' }],
    ['hello/config', { config: { name: 'before', apiKey: 'not-to-be-told' } }],
    ['hello/toggle', {}],
  ] as const) {
    assert.ok((await host.request('POST', `/api/plugins/${path}`, { body })).status < 300)
  }
  await host.host.close()
  const path = join(host.directory, '.host.json')
  await writeFile(path, (await readFile(path, 'utf8')).replace('"before"', '"edited"'))
  return host.directory
}

/** Begins a start on a disk that refuses; `refused` resolves with the host's address when it says so. */
function beginStart(
  context: TestContext,
  directory: string,
  fails: (call: number, path: string) => false | DiskError,
  warn: (message: string) => void = () => undefined,
) {
  let call = 0
  const files = failingFileSystem((operation, path) => {
    if (!writes.has(operation)) return false
    call += 1
    return fails(call, path)
  })
  // The disk is tried again when the test says so.
  let held: (() => void)[] = []
  const clock: Clock = {
    ...systemClock,
    schedule(milliseconds, callback) {
      if (!diskRetryDelays.includes(milliseconds)) return systemClock.schedule(milliseconds, callback)
      held.push(callback)
      return { cancel: () => void (held = held.filter((other) => other !== callback)) }
    },
  }
  const interrupt = new AbortController()
  let told: (address: string) => void
  const refused = new Promise<string>((resolve) => {
    told = resolve
  })
  const host: Promise<Host> = createHost({
    settings: testSettings(directory),
    logger: {
      ...silentLogger,
      warn,
      error(_message, fields) {
        if (typeof fields?.http === 'string') told(fields.http)
      },
    },
    programDirectory: join(import.meta.dirname, '..', '..'),
    hostVersion,
    environment: {},
    files,
    clock,
    interrupt: interrupt.signal,
  })
  context.after(async () => {
    interrupt.abort()
    await host.then((started) => started.close()).catch(() => undefined)
  })
  return {
    host,
    refused,
    interrupt,
    tryAgain: () => held.splice(0).forEach((callback) => callback()),
    waits: () => held.length,
  }
}

interface Answered {
  enabled?: boolean
  description?: string
  reasons?: string[]
  code?: string
  detail?: string
}

async function ask(base: string, path: string, body?: object): Promise<{ status: number; body: Answered }> {
  const answer = await fetch(
    base + path,
    body && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    },
  )
  return { status: answer.status, body: (await answer.json()) as Answered }
}

test('a host that is started on a full disk answers questions, says what is wrong, and goes on when there is room', async (context) => {
  const directory = await usedDirectory(context)
  const disk = { full: true }
  const start = beginStart(context, directory, () => disk.full && 'ENOSPC')
  const base = await start.refused
  const plugin = await ask(base, '/api/plugins/hello')
  assert.deepEqual([plugin.status, plugin.body.enabled, plugin.body.description], [200, true, 'Says hello'])
  assert.doesNotMatch(JSON.stringify(plugin.body), /not-to-be-told/)
  assert.equal((await ask(base, '/api/history')).status, 200)
  const ready = await ask(base, '/readyz')
  assert.deepEqual(
    [ready.status, ready.body.reasons?.[1]],
    [
      503,
      'The disk of the data directory is full; free some space, or delete files where df -i shows that no more fit, and try again.',
    ],
  )
  const refused = await ask(base, '/api/plugins/hello/config', { config: { name: 'after' } })
  assert.deepEqual([refused.status, refused.body.code], [507, 'storage_full'])
  assert.match(refused.body.detail ?? '', /full; free some space/)
  // Nothing has changed since, so it goes on waiting.
  start.tryAgain()
  while (start.waits() === 0) assert.equal((await ask(base, '/livez')).status, 200)

  disk.full = false
  start.tryAgain()
  const host = await start.host
  const { state, config } = host.lifecycle.get('@fixtures/hello')
  assert.deepEqual([state, config.name], ['running', 'edited'], 'the edit of the file is not lost')
  assert.equal((await ask(base, '/readyz')).status, 200)
  assert.equal(host.lifecycle.safeMode, null)
})

test('whichever write of a start finds the disk full, the start is made when there is room, and no edit is lost', async (context) => {
  const used = await usedDirectory(context)
  for (let place = 1, reached = true; reached; place += 1) {
    const directory = await temporaryDirectory(context)
    await cp(used, directory, { recursive: true })
    const disk = { full: true }
    reached = false
    const start = beginStart(context, directory, (call) => {
      reached ||= call >= place
      return call >= place && disk.full && 'EDQUOT'
    })
    const waiting = start.refused.then(() => {
      disk.full = false
      start.tryAgain()
    })
    const host = await Promise.race([start.host, waiting.then(() => start.host)])
    // A plugin whose load could not be written down is made up for later (test/lifecycle/full-disk.test.ts).
    const { config } = host.lifecycle.get('@fixtures/hello')
    await host.close()
    assert.equal(config.name, 'edited', `at write ${place}`)
  }
})

test('a start that waits for room can be ended, and any other refusal ends it', async (context) => {
  const directory = await usedDirectory(context)
  const before = await readFile(join(directory, '.host.json'), 'utf8')
  const waiting = beginStart(context, directory, () => 'ENOSPC')
  await waiting.refused
  waiting.interrupt.abort()
  await assert.rejects(waiting.host, StartInterrupted)
  await assert.rejects(beginStart(context, directory, () => 'EIO').host, {
    name: 'StartError',
    message: /reports an error; check it/,
  })
  assert.equal(await readFile(join(directory, '.host.json'), 'utf8'), before)
})

/** Begins a start that has written down that it is one, and waits for room for the edit; then there is room, which it does not know. */
async function waitWithEdit(context: TestContext, directory: string) {
  const disk = { full: true, writes: 0 }
  // Each event is written, and that is looked at once more.
  const start = beginStart(context, directory, (_, path) => {
    if (!path.endsWith('.host.journal')) return false
    disk.writes += 1
    return disk.writes > 2 && disk.full && 'ENOSPC'
  })
  const base = await start.refused
  disk.full = false
  return { start, base }
}

/** The next start has the edit. */
async function assertEdited(context: TestContext, directory: string): Promise<void> {
  const host = await beginStart(context, directory, () => false).host
  assert.equal(host.lifecycle.get('@fixtures/hello').config.name, 'edited')
}

test('a start that is ended while an edit waits for room leaves it to the next one', async (context) => {
  const directory = await usedDirectory(context)
  const { start } = await waitWithEdit(context, directory)
  start.interrupt.abort()
  await assert.rejects(start.host, StartInterrupted)
  await assertEdited(context, directory)
})

test('starts that are ended while they wait for room are none that came to nothing', async (context) => {
  const directory = await usedDirectory(context)
  for (let starts = 1; starts <= 3; starts += 1) {
    const { start } = await waitWithEdit(context, directory)
    start.interrupt.abort()
    await assert.rejects(start.host, StartInterrupted)
  }
  const { lifecycle } = await beginStart(context, directory, () => false).host
  assert.equal(lifecycle.safeMode, null)
  const ends = lifecycle.history({ limit: 1_000 }).filter(({ type }) => type === 'HostStopped')
  assert.equal(ends.length, 4)
})

test('a start that is ended between an edit and the file without it leaves the next one nothing to do', async (context) => {
  const directory = await usedDirectory(context)
  const path = join(directory, '.host.json')
  const file = JSON.parse(await readFile(path, 'utf8'))
  file.repositories = [{ name: 'others', url: file.repositories[0].url }]
  Object.assign(file.plugins.installed[0], { enabled: false, limits: { memory: 64 } })
  const added = { id: '@fixtures/demo', repository: 'others', enabled: true, limits: { memory: 32 } }
  file.plugins.installed.push(added)
  await writeFile(path, JSON.stringify(file))
  const start = beginStart(context, directory, (_, place) => place.includes('.host.json') && 'ENOSPC')
  await start.refused
  start.interrupt.abort()
  await assert.rejects(start.host, StartInterrupted)

  const warnings: string[] = []
  const next = beginStart(
    context,
    directory,
    () => false,
    (message) => warnings.push(message),
  )
  const { lifecycle } = await next.host
  const ofFile = lifecycle
    .history({ after: file.journal.seq, limit: 1_000 })
    .filter(({ by }) => by === 'file')
  assert.deepEqual(ofFile.map(({ type }) => type).sort(), [
    'PluginConfigured',
    'PluginDisabled',
    'PluginEnabled',
    'PluginInstallRequested',
    'PluginInstalled',
    'PluginLimitsChanged',
    'PluginLimitsChanged',
    'RepositoryAdded',
    'RepositoryRemoved',
  ])
  assert.deepEqual(
    warnings.filter((text) => text.includes('.host.json')),
    [],
  )
})

test('who looks at repositories while an edit waits for room does not have it lost', async (context) => {
  const directory = await usedDirectory(context)
  const { start, base } = await waitWithEdit(context, directory)
  // Whose a namespace is can be written down.
  const { repositories } = JSON.parse(await readFile(join(directory, '.host.json'), 'utf8'))
  await writeFixtureRepository(repositories[0].url, standardFixtures, 'others')
  assert.equal((await ask(base, '/api/catalog')).status, 200)
  const history = (await (await fetch(`${base}/api/history`)).json()) as { events: { type: string }[] }
  assert.equal(history.events.at(-1)?.type, 'NamespaceClaimed')
  start.interrupt.abort()
  await assert.rejects(start.host, StartInterrupted)
  await assertEdited(context, directory)
})

test('an edit is not taken over a second time, over what was changed since: nothing is changed before there is room for the file without it', async (context) => {
  const directory = await usedDirectory(context)
  const disk = { full: true }
  const start = beginStart(
    context,
    directory,
    (_, path) => disk.full && path.includes('.host.json') && 'ENOSPC',
  )
  const base = await Promise.race([start.refused, start.host.then(({ http }) => http)])
  const change = () => ask(base, '/api/plugins/hello/config', { config: { name: 'after' } })
  const { status, body } = await change()
  assert.deepEqual([status, body.code], [507, 'storage_full'])
  disk.full = false
  start.tryAgain()
  const host = await start.host
  assert.equal(host.lifecycle.get('@fixtures/hello').config.name, 'edited')
  assert.equal((await change()).status, 200)
  disk.full = true
  await host.close()
  const next = await beginStart(context, directory, () => false).host
  assert.equal(next.lifecycle.get('@fixtures/hello').config.name, 'after')
})

test('a full disk is told from other refusals, also below another error', () => {
  const cases: [unknown, boolean][] = [
    [Object.assign(new Error('no'), { code: 'ENOSPC' }), true],
    [new Error('outer', { cause: Object.assign(new Error('no'), { code: 'EDQUOT' }) }), true],
    [Object.assign(new Error('no'), { code: 'EROFS' }), false],
    [new Error('ENOSPC'), false],
    ['ENOSPC', false],
  ]
  for (const [error, full] of cases) assert.equal(isDiskFull(error), full)
})
