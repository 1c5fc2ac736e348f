import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import type { LogFields, Logger } from '../../src/base/log/log.ts'
import { createHost } from '../../src/host/host.ts'
import { type DiskError, diskErrors, failingFileSystem } from '../helpers/failing-file-system.ts'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { hostVersion, startTestHost, type TestHost, testSettings } from '../helpers/test-host.ts'

/**
 * A host whose file system fails at the Nth call, for every N of a fixed sequence of commands. By default only
 * some of the Ns; all of them: `LUPINE_DISK_STEP=1 node scripts/test.mjs test/torture`.
 */
const step = Number(process.env.LUPINE_DISK_STEP ?? 0)
/** Each place has one of these; the next place the next. */
const errors = Object.keys(diskErrors) as DiskError[]
/** How many places are tried by default, in each of the two manners; a place takes about a second. */
const samples = 12

const ids = ['tally', 'other'] as const
type Id = (typeof ids)[number]
/** `undefined`: not installed. */
type Known = { enabled: boolean; config: object; version: string; previous?: string } | undefined

function fixture(id: Id, version: string): FixturePlugin {
  return {
    id,
    version,
    lua: `-- version ${version}
local plugin = Plugin:new("${id}")
plugin:onInit(function(config) plugin:kvSet("n", config.n or 0) end)`,
    manifest: { docs: [{ title: 'Read me', file: 'README.md' }] },
    files: { 'README.md': `version ${version}` },
  }
}

type Change = (before: Known) => Known
const enabled: Change = (before) => before && { ...before, enabled: true }
const disabled: Change = (before) => before && { ...before, enabled: false }
const configured =
  (n: number): Change =>
  (before) =>
    before && { ...before, config: { n } }
const at =
  (version: string): Change =>
  (before) =>
    before && { ...before, version, previous: before.version }
const installed =
  (version: string): Change =>
  (before) =>
    before ?? { enabled: false, config: {}, version }
const back: Change = (before) =>
  before?.previous === undefined ? before : { ...before, version: before.previous, previous: before.version }
const gone: Change = () => undefined

interface Step {
  id: Id
  method?: string
  path: string
  body?: object
  change: Change
  /** Version that the repository offers from here on. */
  publish?: string
}

const sequence: Step[] = [
  { id: 'tally', path: '/install', body: { fullId: '@fixtures/tally' }, change: installed('1.0.0') },
  { id: 'tally', path: '/tally/config', body: { config: { n: 1 } }, change: configured(1) },
  { id: 'tally', path: '/tally/toggle', body: { enabled: true }, change: enabled },
  { id: 'other', path: '/install', body: { fullId: '@fixtures/other' }, change: installed('1.0.0') },
  { id: 'tally', path: '/tally/config', body: { config: { n: 2 } }, change: configured(2) },
  { id: 'tally', path: '/tally/update', body: {}, change: at('2.0.0'), publish: '2.0.0' },
  { id: 'tally', path: '/tally/reload', change: (before) => before },
  { id: 'tally', path: '/tally/update', body: {}, change: at('3.0.0'), publish: '3.0.0' },
  { id: 'tally', path: '/tally/rollback', change: back },
  { id: 'other', path: '/other/toggle', body: { enabled: true }, change: enabled },
  { id: 'other', method: 'DELETE', path: '/other?purge=files,kv', change: gone },
  { id: 'tally', path: '/tally/toggle', body: { enabled: false }, change: disabled },
]

interface Disk {
  calls: number
  /** From this call on (from 1); 0: never. */
  failAt: number
  once: boolean
  error: DiskError
}

const token = 'token-of-a-host-that-starts-again'

interface Complaint {
  message: string
  fields: LogFields
}

function collector(complaints: Complaint[]): Logger {
  const note = (message: string, fields: LogFields = {}): void => void complaints.push({ message, fields })
  return { debug: () => undefined, info: () => undefined, warn: note, error: note }
}

async function startOn(context: TestContext, disk: Disk): Promise<TestHost> {
  const files = failingFileSystem(() => {
    if (disk.failAt === 0) return false
    disk.calls += 1
    const fails = disk.once ? disk.calls === disk.failAt : disk.calls >= disk.failAt
    return fails && disk.error
  })
  const host = await startTestHost({
    files,
    plugins: ids.map((id) => fixture(id, '1.0.0')),
    // Fewer workers to start; what is written is the same.
    settings: { isolation: 'shared' },
    // New segments and checkpoints every few events.
    segmentBytes: 2_000,
  })
  context.after(() => host.close())
  return host
}

async function assertWhole(host: TestHost): Promise<void> {
  const text = await readFile(join(host.directory, '.host.json'), 'utf8')
  assert.ok(Array.isArray(JSON.parse(text).repositories), '.host.json is whole')
  const stores = await readdir(join(host.directory, '.kv')).catch(() => [])
  for (const name of stores.filter((file) => file.endsWith('.json'))) {
    JSON.parse(await readFile(join(host.directory, '.kv', name), 'utf8'))
  }
}

/** Sends the sequence; answers what each plugin may be now. Several candidates: after a refusal. */
async function run(host: TestHost, disk: Disk): Promise<{ known: Map<Id, Known[]>; refused: number }> {
  const known = new Map<Id, Known[]>(ids.map((id) => [id, [undefined]]))
  let refused = 0
  for (const { id, method = 'POST', path, body, change, publish } of sequence) {
    if (publish !== undefined) await host.publish(ids.map((each) => fixture(each, publish)))
    const before = known.get(id) ?? []
    const after = before.map(change)
    const answer = await host.request(method, `/api/plugins${path}`, body === undefined ? {} : { body })
    const what = `${method} ${path}, ${disk.error} at call ${disk.failAt}: ${answer.status} ${JSON.stringify(answer.body)}`
    if (answer.status < 300) known.set(id, after)
    else {
      // What came before it may have left the plugin where the command makes no sense.
      assert.ok([404, 409, 507].includes(answer.status), what)
      assert.match(answer.body.detail, /\w{3}.*\.$/s, what)
      refused += 1
      known.set(id, [...before, ...after])
    }
    const list = await host.request('GET', '/api/plugins')
    assert.equal(list.status, 200, 'reading goes on')
    assertPossible(list.body.plugins, known, what)
    await assertWhole(host)
  }
  return { known, refused }
}

function assertPossible(
  plugins: { shortId: string; enabled: boolean; config: object; version: string }[],
  known: Map<Id, Known[]>,
  what: string,
): void {
  for (const id of ids) {
    const found = plugins.find(({ shortId }) => shortId === id)
    const state: Known = found && {
      enabled: found.enabled,
      config: found.config,
      version: found.version,
    }
    const candidates = known.get(id) ?? []
    const fitting = candidates.filter(
      (candidate) =>
        JSON.stringify(candidate && { ...candidate, previous: undefined }) === JSON.stringify(state),
    )
    const expected = candidates.map((candidate) => JSON.stringify(candidate)).join(' or ')
    assert.ok(fitting.length > 0, `${id} is ${JSON.stringify(state)}, not one of ${expected} (${what})`)
    known.set(id, fitting)
  }
}

async function assertFilesFit(directory: string, version: string): Promise<void> {
  const folder = join(directory, 'plugins', 'fixtures--tally')
  assert.equal(JSON.parse(await readFile(join(folder, 'plugin.json'), 'utf8')).version, version)
  assert.match(await readFile(join(folder, 'init.lua'), 'utf8'), new RegExp(`version ${version}`))
  assert.equal(await readFile(join(folder, 'README.md'), 'utf8'), `version ${version}`)
}

async function torture(context: TestContext, failAt: number, once: boolean): Promise<number> {
  const disk: Disk = { calls: 0, failAt: 0, once, error: errors[failAt % errors.length] ?? 'ENOSPC' }
  const host = await startOn(context, disk)
  disk.failAt = failAt
  const { known, refused } = await run(host, disk)
  const calls = disk.calls

  // There is room again: the host takes commands without a restart.
  disk.failAt = 0
  const place = `${disk.error} at call ${failAt}, ${once ? 'once' : 'from then on'}`
  const [tally] = known.get('tally') ?? []
  if (tally === undefined) {
    const again = await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/tally' } })
    assert.equal(again.status, 201, `${place}: ${JSON.stringify(again.body)}`)
  }
  for (const [path, body] of [
    ['config', { config: { n: 7 } }],
    ['toggle', { enabled: true }],
  ] as const) {
    const again = await host.request('POST', `/api/plugins/tally/${path}`, { body })
    assert.equal(again.status, 200, `${place}: ${JSON.stringify(again.body)}`)
  }
  // It would come by itself, some seconds later, to where this takes it now.
  const others = (await host.request('GET', '/api/plugins')).body.plugins as Record<string, unknown>[]
  for (const { id, enabled: wanted } of others.filter(({ shortId }) => shortId !== 'tally')) {
    const { status, body } = wanted
      ? await host.request('POST', `/api/plugins/${String(id)}/reload`)
      : await host.request('POST', `/api/plugins/${String(id)}/toggle`, { body: { enabled: false } })
    assert.equal(status, 200, `${place}: ${JSON.stringify(body)}`)
    assert.equal(body.state === 'running', wanted, `${place}: ${body.state}`)
  }
  const shown = (await host.request('GET', '/api/plugins/tally')).body
  assert.equal(shown.state, 'running', `${place}: ${JSON.stringify(shown.error)}`)
  assert.equal((await host.request('GET', '/readyz')).status, 200, place)
  const list = (await host.request('GET', '/api/plugins')).body.plugins
  await host.host.close()
  await assertWhole(host)

  // And everything is there when it starts again.
  const complaints: Complaint[] = []
  const again = await createHost({
    // Without a token the log says so.
    settings: { ...testSettings(host.directory), token },
    logger: collector(complaints),
    programDirectory: join(import.meta.dirname, '..', '..'),
    hostVersion,
    environment: {},
    files: systemFileSystem,
  })
  try {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(new URL('/api/plugins', again.http), { headers })
    const answer = (await response.json()) as { plugins: object[] }
    const facts = (plugins: object[]): unknown =>
      (plugins as Record<string, unknown>[]).map(({ id, version, enabled, config, state }) => ({
        id,
        version,
        enabled,
        config,
        state,
      }))
    assert.deepEqual(facts(answer.plugins), facts(list), place)
    await assertFilesFit(host.directory, shown.version)
    const store = JSON.parse(await readFile(join(host.directory, '.kv', 'fixtures--tally.json'), 'utf8'))
    assert.deepEqual(store.entries.n, { value: 7 }, place)
    assert.deepEqual(complaints, [], place)
    for (const folder of ['.staging', '.swap']) {
      const left = await readdir(join(host.directory, 'plugins', folder)).catch(() => [])
      assert.deepEqual(left, [], `${place}: ${folder}`)
    }
  } finally {
    await again.close()
  }
  context.diagnostic(`${place}: ${refused} refused`)
  return calls
}

for (const once of [true, false]) {
  const manner = once ? 'a single call' : 'every call from one on'
  test(`when ${manner} to the file system fails, nothing that was acknowledged is lost, no file is half, and the host goes on`, async (context) => {
    const total = await torture(context, Number.MAX_SAFE_INTEGER, once)
    assert.ok(total > 100, `${total} calls`)
    const width = step > 0 ? step : Math.ceil(total / samples)
    for (let failAt = 1; failAt <= total; failAt += width) await torture(context, failAt, once)
    context.diagnostic(`${total} calls in the sequence, every ${width}th tried`)
  })
}
