import assert from 'node:assert/strict'
import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { type FileSystem, systemFileSystem } from '../../../src/base/files/file-system.ts'
import { readKeyFile } from '../../../src/base/keys/key-file.ts'
import { createKeyRing, type KeyRing } from '../../../src/base/keys/key-ring.ts'
import { silentLogger } from '../../../src/base/log/log.ts'
import { openLeaseBucket } from '../../../src/fleet/leases/lease-bucket.ts'
import { leaseBuckets } from '../../../src/fleet/leases/lease-store.ts'
import { leaseTiming } from '../../../src/fleet/leases/timing.ts'
import { StoreUnreachableError } from '../../../src/fleet/store/store-errors.ts'
import { createHost } from '../../../src/host/host.ts'
import { pluginIn } from '../../../src/journal/fold/evolve.ts'
import { findSegments } from '../../../src/journal/segments/segment.ts'
import { createSecretVault } from '../../../src/lifecycle/secrets/secret-vault.ts'
import { joinCommand, leaveCommand } from '../../../src/maintenance/fleet/commands.ts'
import { joinFleet } from '../../../src/maintenance/fleet/join-fleet.ts'
import { leaveFleet } from '../../../src/maintenance/fleet/leave-fleet.ts'
import type { HostFact } from '../../../src/schema/journal/journal-event.ts'
import { configured, id, installation } from '../../helpers/any-fact.ts'
import { failingFileSystem } from '../../helpers/failing-file-system.ts'
import { type FixturePlugin, writeFixtureRepository } from '../../helpers/fixture-repository.ts'
import { contentOf } from '../../helpers/content-of.ts'
import { everythingOf, openTestJournal } from '../../helpers/journal-stage.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { hostVersion, startTestHost, type TestHost, testSettings } from '../../helpers/test-host.ts'
import { createFleetStage } from '../../fleet/fleet-stage.ts'

const stage = createFleetStage()

/** A plugin that counts its starts in its stored values, and shows what it knows. */
function keeper(id: string, version = '1.0.0'): FixturePlugin {
  return {
    ...{ id, version },
    lua: `
local plugin = Plugin:new("${id}")
plugin:onInit(function(config)
  local starts = plugin:kvGet("starts", 0) + 1
  plugin:kvSet("starts", starts)
  plugin:upsertObject("state", { starts = starts, apiKey = config.apiKey, version = "${version}" })
end)
return plugin
`,
    manifest: { configSchema: [{ key: 'apiKey', type: 'string', secret: true }] },
  }
}

interface Stopped {
  directory: string
  repository: string
}

const post = (host: TestHost, path: string, body: object = {}) =>
  host.request('POST', path, { body }).then(({ status, body: answer }) => {
    assert.ok(status < 300, JSON.stringify(answer))
    return answer
  })

async function keyFile(context: TestContext): Promise<{ secretKeyFile: string; ring: KeyRing }> {
  const secretKeyFile = join(await temporaryDirectory(context), 'key')
  await writeFile(secretKeyFile, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 })
  return { secretKeyFile, ring: await readKeyFile(systemFileSystem, secretKeyFile) }
}

/** A host that has run these plugins, and was stopped. */
async function stoppedHost(
  context: TestContext,
  secretKeyFile: string,
  ids: readonly string[],
  repository?: string,
): Promise<Stopped> {
  const host = await startTestHost({
    settings: { secretKeyFile },
    plugins: ids.map((id) => keeper(id)),
    ...(repository === undefined
      ? {}
      : { hostFile: { repositories: [{ name: 'fixtures', url: repository }] } }),
  })
  context.after(() => rm(join(host.directory, '..'), { recursive: true, force: true }))
  for (const id of ids) {
    await post(host, '/api/plugins/install', { fullId: `@fixtures/${id}` })
    await post(host, `/api/plugins/${id}/config`, { config: { apiKey: `pearl-${id}` } })
    await post(host, `/api/plugins/${id}/toggle`, { enabled: true })
  }
  await host.host.close()
  return { directory: host.directory, repository: host.repository }
}

/** Starts a host in a directory, and answers what its plugins show. */
async function shownBy(
  context: TestContext,
  directory: string,
  secretKeyFile: string,
  ids: readonly string[],
) {
  const host = await createHost({
    settings: testSettings(directory, { secretKeyFile }),
    ...{
      logger: silentLogger,
      programDirectory: directory,
      hostVersion,
      environment: {},
      clock: systemClock,
    },
    ...{ files: systemFileSystem, discovery: { networks: () => ({}) } },
  })
  const shown: Record<string, unknown> = {}
  for (const id of ids) {
    const answer = await fetch(new URL(`/api/plugins/${id}/objects`, host.http))
    shown[id] = ((await answer.json()) as { objects: Record<string, unknown> }).objects.state
  }
  await host.close()
  return shown
}

async function membership(context: TestContext, ring: KeyRing, fleet: string, directory: string) {
  return {
    connection: await stage.connection(context),
    ...{ fleet, directory, ring, files: systemFileSystem, clock: systemClock },
  }
}

async function newPlace(context: TestContext): Promise<string> {
  return join(await temporaryDirectory(context), 'data')
}

async function everythingIn(context: TestContext, directory: string, ring: KeyRing) {
  const journal = await openTestJournal(directory, {
    vault: createSecretVault(ring, () => undefined),
    whole: true,
  })
  context.after(() => journal.close())
  return everythingOf(journal)
}

test('the first host brings all it has into a fleet, and gets all of it back; its directory stays as it was', async (context) => {
  const { secretKeyFile, ring } = await keyFile(context)
  const ids = ['one', 'two']
  const { directory } = await stoppedHost(context, secretKeyFile, ids)
  const before = await contentOf(directory)
  const fleet = stage.newFleet()
  const joined = await joinFleet(await membership(context, ring, fleet, directory))
  assert.deepEqual(joined, {
    ...{ as: 'first', plugins: ['@fixtures/one', '@fixtures/two'], refused: [], withoutFiles: [] },
  })
  assert.deepEqual(await contentOf(directory), before)

  const place = await newPlace(context)
  const left = await leaveFleet(await membership(context, ring, fleet, place))
  assert.deepEqual(
    { ...left, seq: 0 },
    {
      ...{ seq: 0, plugins: joined.plugins, values: joined.plugins, leftOut: [] },
    },
  )
  assert.deepEqual(await everythingIn(context, place, ring), await everythingIn(context, directory, ring))
  assert.doesNotMatch(Object.values(await contentOf(place)).join('\n'), /pearl-/)
  const files = (content: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(content).filter(([name, text]) => name.startsWith('plugins') && text !== 'a folder'),
    )
  assert.deepEqual(files(await contentOf(place)), files(before))
  assert.deepEqual(await shownBy(context, place, secretKeyFile, ids), {
    one: { starts: 2, apiKey: 'pearl-one', version: '1.0.0' },
    two: { starts: 2, apiKey: 'pearl-two', version: '1.0.0' },
  })
})

test('a further host brings plugins, settings and values; a plugin that is there already is refused by name', async (context) => {
  const { secretKeyFile, ring } = await keyFile(context)
  const first = await stoppedHost(context, secretKeyFile, ['one', 'two'])
  const host = await startTestHost({
    settings: { secretKeyFile },
    hostFile: { repositories: [{ name: 'fixtures', url: first.repository }] },
  })
  context.after(() => rm(join(host.directory, '..'), { recursive: true, force: true }))
  const offer = (version: string) => [keeper('two'), keeper('three', version), keeper('four')]
  await writeFixtureRepository(first.repository, offer('1.0.0'))
  for (const id of ['two', 'three', 'four'])
    await post(host, '/api/plugins/install', { fullId: `@fixtures/${id}` })
  await post(host, '/api/plugins/three/config', { config: { apiKey: 'old' } })
  await writeFixtureRepository(first.repository, offer('2.0.0'))
  await post(host, '/api/plugins/three/update')
  await post(host, '/api/plugins/three/config', { config: { apiKey: 'new' } })
  await host.request('PUT', '/api/plugins/three/limits', { body: { timers: 50 } })
  await post(host, '/api/plugins/three/toggle', { enabled: true })
  await host.host.close()
  const before = await contentOf(host.directory)

  const fleet = stage.newFleet()
  await joinFleet(await membership(context, ring, fleet, first.directory))
  const joined = await joinFleet(await membership(context, ring, fleet, host.directory))
  assert.deepEqual(joined, {
    ...{ as: 'later', plugins: ['@fixtures/three', '@fixtures/four'], withoutFiles: [] },
    refused: [{ what: '@fixtures/two', reason: 'the fleet has this plugin already' }],
  })
  assert.deepEqual(await contentOf(host.directory), before)

  const place = await newPlace(context)
  const left = await leaveFleet(await membership(context, ring, fleet, place))
  assert.deepEqual([left.plugins.length, left.leftOut], [4, []])
  const own = await openTestJournal(host.directory, { vault: createSecretVault(ring, () => undefined) })
  const back = await openTestJournal(place, { vault: createSecretVault(ring, () => undefined) })
  context.after(() => Promise.all([own.close(), back.close()]))
  for (const id of ['@fixtures/three', '@fixtures/four']) {
    const [was, is] = [own, back].map((journal) => {
      const { config, enabled, version, integrity, limits, kept, repository } = pluginIn(
        journal.state,
        id,
      ).context
      const releases = kept.map((release) => ({ ...release, keptAt: '' }))
      return { config, enabled, version, integrity, limits, repository, kept: releases }
    })
    assert.deepEqual(is, was)
  }
  assert.equal(pluginIn(back.state, '@fixtures/three').context.kept.length, 1)
  await Promise.all([own.close(), back.close()])
  assert.deepEqual(await shownBy(context, place, secretKeyFile, ['one', 'two', 'three']), {
    one: { starts: 2, apiKey: 'pearl-one', version: '1.0.0' },
    two: { starts: 2, apiKey: 'pearl-two', version: '1.0.0' },
    three: { starts: 2, apiKey: 'new', version: '2.0.0' },
  })

  // Once more: nothing is there twice.
  const again = await joinFleet(await membership(context, ring, fleet, host.directory))
  assert.deepEqual(again, joined)
  const manager = await jetstreamManager(await stage.connection(context))
  assert.equal((await manager.streams.info(`LUPINE_${fleet}_JOURNAL`)).state.last_seq, left.seq)
})

/** A connection that is cut after so many questions. */
async function cutAfter(context: TestContext, questions: number): Promise<NatsConnection> {
  const connection = await stage.connection(context)
  const { request } = connection
  let asked = 0
  connection.request = (...given) => {
    asked += 1
    if (asked > questions) return Promise.reject(new Error('cut'))
    return request.apply(connection, given)
  }
  return connection
}

/** Tries with connections that are cut later and later, until it is done. */
async function persistently<T>(
  context: TestContext,
  task: (connection: NatsConnection) => Promise<T>,
): Promise<T> {
  let cuts = 0
  // The patience of a person is not what is tried here.
  for (let questions = 3; questions < 1_000; questions += 2) {
    try {
      const done = await task(await cutAfter(context, questions))
      assert.ok(cuts > 1, 'it was interrupted')
      return done
    } catch (error) {
      if (!(error instanceof StoreUnreachableError)) throw error
      cuts += 1
    }
  }
  throw new Error('It never came to an end')
}

/** Where somebody waits to try again, time passes quickly. */
function hurriedClock(): Clock {
  let skipped = 0
  return {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + skipped,
    schedule(milliseconds, callback) {
      if (milliseconds !== 100) return systemClock.schedule(milliseconds, callback)
      skipped += 2_000
      return systemClock.schedule(1, callback)
    },
  }
}

/** Two hosts that have stopped, each with a plugin, and a fleet that they may join. */
async function twoToJoin(context: TestContext) {
  const { secretKeyFile, ring } = await keyFile(context)
  const first = await stoppedHost(context, secretKeyFile, ['one'])
  await writeFixtureRepository(first.repository, [keeper('one'), keeper('three')])
  const second = await stoppedHost(context, secretKeyFile, ['three'], first.repository)
  const fleet = stage.newFleet()
  const place = await newPlace(context)
  const settings = { ...(await membership(context, ring, fleet, place)), clock: hurriedClock() }
  return { first, second, secretKeyFile, place, settings }
}

test('what is interrupted anywhere can be run again, and nothing is lost or there twice', async (context) => {
  const { first, second, secretKeyFile, place, settings } = await twoToJoin(context)
  const run = (directory: string) =>
    persistently(context, (connection) => joinFleet({ ...settings, connection, directory }))
  assert.equal((await run(first.directory)).as, 'first')
  const joined = await run(second.directory)
  assert.deepEqual([joined.as, joined.plugins, joined.refused], ['later', ['@fixtures/three'], []])
  const left = await persistently(context, (connection) => leaveFleet({ ...settings, connection }))
  assert.deepEqual(
    [left.plugins, left.values, left.leftOut],
    [['@fixtures/one', '@fixtures/three'], ['@fixtures/one', '@fixtures/three'], []],
  )
  assert.deepEqual(await shownBy(context, place, secretKeyFile, ['one', 'three']), {
    one: { starts: 2, apiKey: 'pearl-one', version: '1.0.0' },
    three: { starts: 2, apiKey: 'pearl-three', version: '1.0.0' },
  })
  await assert.rejects(stat(`${place}.leaving`), { code: 'ENOENT' })
})

test('what a host had begun to write down when it died is whole in the directory that is made of the fleet', async (context) => {
  const { first, second, secretKeyFile, place, settings } = await twoToJoin(context)
  const { fleet } = settings
  await joinFleet({ ...settings, directory: first.directory })
  const manager = await jetstreamManager(settings.connection)
  const subjects_filter = `lupine.${fleet}.journal.fixtures/three`
  const written = async (): Promise<unknown> =>
    (await manager.streams.info(`LUPINE_${fleet}_JOURNAL`, { subjects_filter })).state.subjects
  for (let questions = 3; (await written()) === undefined; questions += 1) {
    const connection = await cutAfter(context, questions)
    const { directory } = second
    await assert.rejects(joinFleet({ ...settings, connection, directory }), StoreUnreachableError)
  }
  await leaveFleet(settings)
  assert.deepEqual(await shownBy(context, place, secretKeyFile, ['three']), {
    three: { starts: 2, apiKey: 'pearl-three', version: '1.0.0' },
  })
})

test('a fleet that has only the beginning of its first journal takes no host, until the command has brought the rest', async (context) => {
  const { secretKeyFile, ring } = await keyFile(context)
  const { directory } = await stoppedHost(context, secretKeyFile, ['one', 'two'])
  const fleet = stage.newFleet()
  const settings = { ...(await membership(context, ring, fleet, directory)), clock: hurriedClock() }
  const vault = createSecretVault(ring, () => undefined)
  // It has found nothing of a first host, and has written nothing yet.
  const early = await stage.openHost(context, fleet, { vault })
  const manager = await jetstreamManager(settings.connection)
  const last = async (): Promise<number> =>
    (await manager.streams.info(`LUPINE_${fleet}_JOURNAL`).catch(() => undefined))?.state.last_seq ?? 0
  for (let questions = 3; (await last()) < 3; questions += 1) {
    const connection = await cutAfter(context, questions)
    await assert.rejects(joinFleet({ ...settings, connection }), StoreUnreachableError)
  }
  const begun = await last()
  const other = await stoppedHost(context, secretKeyFile, ['three'])
  const copy = await temporaryDirectory(context)
  const refused = {
    name: 'StoreRefusedError',
    message: new RegExp(
      `^The fleet ${fleet} has ${begun} of \\d+ events of its first host: "lupine fleet join" is under way there, or was interrupted\\.`,
    ),
  }
  const entry: HostFact = {
    ...{ type: 'HostJoined', plugin: null },
    data: { host: 'early', hostVersion, address: 'http://127.0.0.1:1', labels: [] },
  }
  await assert.rejects(early.append([entry], 'startup'), refused)
  await assert.rejects(stage.openHost(context, fleet, { directory: copy, vault }), refused)
  assert.deepEqual(await readdir(copy), [])
  await assert.rejects(joinFleet({ ...settings, directory: other.directory }), refused)
  await assert.rejects(leaveFleet({ ...settings, directory: await newPlace(context) }), refused)
  assert.equal(await last(), begun)

  const joined = await joinFleet(settings)
  assert.deepEqual(
    [joined.as, joined.plugins, joined.refused],
    ['first', ['@fixtures/one', '@fixtures/two'], []],
  )
  const host = await stage.openHost(context, fleet, { directory: copy, vault })
  assert.equal(pluginIn(host.state, '@fixtures/two').context.config.apiKey, 'pearl-two')
  assert.equal((await joinFleet({ ...settings, directory: other.directory })).as, 'later')
  assert.equal((await early.append([entry], 'startup')).length, 1)
})

/** A fleet with one plugin, and a place for the directory of a host that leaves it. */
async function oneToLeave(context: TestContext) {
  const { secretKeyFile, ring } = await keyFile(context)
  const { directory } = await stoppedHost(context, secretKeyFile, ['one'])
  const fleet = stage.newFleet()
  await joinFleet(await membership(context, ring, fleet, directory))
  const place = await newPlace(context)
  const settings = await membership(context, ring, fleet, place)
  return { secretKeyFile, place, settings }
}

test('a directory for which there is no room is not made, and nothing is said of other hosts', async (context) => {
  const { place, settings } = await oneToLeave(context)
  for (const name of ['.host.journal', 'init.lua', '.host.json']) {
    let isFull = false
    const files = failingFileSystem((operation, path) => {
      isFull ||= path.includes(name)
      return isFull && (operation === 'write' || operation === 'writeFile')
    })
    await assert.rejects(leaveFleet({ ...settings, files }), {
      message:
        'The disk of the data directory is full; free some space, or delete files where df -i shows that no more fit, and try again.',
    })
    assert.ok(isFull)
    for (const left of [place, `${place}.leaving`]) await assert.rejects(stat(left), { code: 'ENOENT' })
  }
  assert.deepEqual((await leaveFleet(settings)).plugins, ['@fixtures/one'])
})

test('a directory that is left half made, or made and not told of, wherever the command was ended, is made anew', async (context) => {
  const { secretKeyFile, place, settings } = await oneToLeave(context)
  // What a process would take along with its end: the commands stay where they were, until the test is over.
  const over = new AbortController()
  const commands: Promise<unknown>[] = []
  context.after(() => {
    over.abort()
    return Promise.allSettled(commands)
  })
  const isOver = once(over.signal, 'abort')
  // Each time the process is ended at one call more than the time before.
  for (let limit = 1, done = false; !done; limit += 1) {
    let calls = 0
    let reached: () => void = () => undefined
    const ended = new Promise<void>((resolve) => (reached = resolve))
    const step = <Given extends unknown[], Result>(
      task: (...given: Given) => Promise<Result>,
      counts: (path: string) => boolean,
    ) => {
      return async (...given: Given): Promise<Result> => {
        if (counts(String(given[0]))) calls += 1
        if (calls < limit) return task(...given)
        reached()
        await isOver
        throw new Error('The process has ended')
      }
    }
    const isOurs = (path: string): boolean => path.endsWith('.leaving') || path.includes('.host.leaving')
    const files = {
      ...systemFileSystem,
      open: step(systemFileSystem.open, isOurs),
      rename: step(systemFileSystem.rename, isOurs),
      rm: step(systemFileSystem.rm, isOurs),
    } as FileSystem
    const command = leaveFleet({ ...settings, files })
    commands.push(command)
    done = await Promise.race([command.then(() => true), ended.then(() => false)])
    assert.ok(done || limit < 50)
  }
  assert.deepEqual((await readdir(place)).includes('.host.leaving'), false)
  assert.deepEqual(Object.keys(await shownBy(context, place, secretKeyFile, ['one'])), ['one'])
  await assert.rejects(leaveFleet(settings), /is not empty; name a new directory/)
})

test('files that were changed by hand, and values of a plugin that is gone, come along as they are', async (context) => {
  const { secretKeyFile, ring } = await keyFile(context)
  const ids = ['one', 'two']
  const { directory } = await stoppedHost(context, secretKeyFile, ids)
  const path = join(directory, 'plugins', 'fixtures--one', 'init.lua')
  await writeFile(path, (await readFile(path, 'utf8')).replace('"1.0.0"', '"by hand"'))
  await rm(join(directory, 'plugins', 'fixtures--two'), { recursive: true })
  const fleet = stage.newFleet()
  const joined = await joinFleet(await membership(context, ring, fleet, directory))
  assert.deepEqual(joined.withoutFiles, ['@fixtures/two'])
  assert.equal((await joinFleet(await membership(context, ring, fleet, directory))).as, 'already')
  const place = await newPlace(context)
  const left = await leaveFleet(await membership(context, ring, fleet, place))
  assert.deepEqual(
    left.leftOut.map(({ what, reason }) => [what, reason.split(' (')[0]]),
    [['the files of @fixtures/two', 'The file init.lua of @fixtures/two']],
  )
  assert.deepEqual((await shownBy(context, place, secretKeyFile, ['one'])).one, {
    ...{ starts: 2, apiKey: 'pearl-one', version: 'by hand' },
  })
})

test('a host with another key does not join the others, which could not read what it brings', async (context) => {
  const fleet = stage.newFleet()
  const [first, further] = [await keyFile(context), await keyFile(context)]
  const one = await stoppedHost(context, first.secretKeyFile, ['one'])
  const two = await stoppedHost(context, further.secretKeyFile, ['two'])
  await joinFleet(await membership(context, first.ring, fleet, one.directory))
  await assert.rejects(
    joinFleet(await membership(context, further.ring, fleet, two.directory)),
    /^StoreRefusedError: The hosts of the fleet .* have the key .*: copy the key file of another host of the fleet/,
  )
})

test('what is not at rest, or no fleet, or in the way, is refused with one line, and nothing is changed', async (context) => {
  const { secretKeyFile, ring } = await keyFile(context)
  const running = await startTestHost({ settings: { secretKeyFile }, plugins: [keeper('one')] })
  context.after(() => running.close())
  const fleet = stage.newFleet()
  const { directory } = await stoppedHost(context, secretKeyFile, ['one'])
  const at = async (place: string, keys = ring) => membership(context, keys, fleet, place)
  const line = (message: RegExp) => (error: Error) => {
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /\n/)
    return true
  }
  await assert.rejects(
    joinFleet(await at(running.directory)),
    line(/^A host is running in .*; stop it first\.$/),
  )
  await assert.rejects(
    leaveFleet(await at(running.directory)),
    line(/^A host is running in .*; stop it first\.$/),
  )
  await assert.rejects(leaveFleet(await at(directory)), line(/ is not empty; name a new directory/))
  const place = await newPlace(context)
  await assert.rejects(
    leaveFleet(await at(place)),
    line(/has no stream LUPINE_.*_JOURNAL; correct the name of the fleet/),
  )
  await assert.rejects(stat(place), { code: 'ENOENT' })
  // What is called as the command calls what it is building may be somebody's.
  const own = `${place}.leaving`
  await writeFile(own, 'own')
  await assert.rejects(leaveFleet(await at(place)), line(/\.leaving is in the way; move it away/))
  assert.equal(await readFile(own, 'utf8'), 'own')
  await rm(own)
  await mkdir(own)
  await writeFile(join(own, 'notes'), 'own')
  const files = failingFileSystem((operation, path) => operation === 'readdir' && path === own && 'EMFILE', {
    questions: true,
  })
  await assert.rejects(
    leaveFleet({ ...(await at(place)), files }),
    line(/\.leaving is in the way; move it away\. It cannot be read \(EMFILE/),
  )
  assert.equal(await readFile(join(own, 'notes'), 'utf8'), 'own')
  const before = await contentOf(directory)
  await assert.rejects(joinFleet(await at(directory, createKeyRing([]))), line(/HOST_SECRET_KEY_FILE/))
  await assert.rejects(joinFleet(await at(directory, createKeyRing([randomBytes(32)]))), line(/key/))
  assert.deepEqual(await contentOf(directory), before)

  const hostFile = join(directory, '.host.json')
  const text = await readFile(hostFile, 'utf8')
  await writeFile(hostFile, text.replace('"enabled": true', '"enabled": false'))
  await assert.rejects(
    joinFleet(await at(directory)),
    line(/ was changed by hand since the host ran\. Start the host/),
  )
  await writeFile(hostFile, text)

  const manager = await jetstreamManager(await stage.connection(context))
  await assert.rejects(manager.streams.info(`LUPINE_${fleet}_JOURNAL`), /not found/)
})

test('what has just been made of a fleet whose hosts ran plugins joins once a host has run in it, and that is said', async (context) => {
  const { secretKeyFile, ring } = await keyFile(context)
  const { directory } = await stoppedHost(context, secretKeyFile, ['one'])
  const [fleet, another] = [stage.newFleet(), stage.newFleet()]
  await joinFleet(await membership(context, ring, fleet, directory))
  const vault = createSecretVault(ring, () => undefined)
  const host = await stage.openHost(context, fleet, { vault })
  // A host of a fleet leaves its plugins to the others, and unloads none of them for the fleet.
  await host.append(
    [{ type: 'PluginLoadRequested', plugin: '@fixtures/one', data: { reason: 'start' } }],
    'startup',
  )
  await host.append([{ type: 'PluginLoaded', plugin: '@fixtures/one', data: {} }], 'startup')
  await host.close()
  const place = await newPlace(context)
  await leaveFleet(await membership(context, ring, fleet, place))
  const settings = await membership(context, ring, another, place)
  await assert.rejects(joinFleet(settings), {
    message:
      /"lupine fleet leave" has made the directory and no host has run in it: @fixtures\/one is running\. Start a host there once/,
  })
  await shownBy(context, place, secretKeyFile, ['one'])
  assert.equal((await joinFleet(settings)).as, 'first')
})

test('the first host has to bring its journal from the beginning, and one that was stopped in order', async (context) => {
  const { ring } = await keyFile(context)
  const directory = await temporaryDirectory(context)
  const journal = await openTestJournal(directory, { segmentBytes: 1_000 })
  await journal.append(installation(id), 'http')
  for (let n = 0; n < 40; n += 1) await journal.append([configured(id, { n })], 'http')
  await journal.append([{ type: 'PluginEnabled', plugin: id, data: {} }], 'http')
  await journal.close()
  const fleet = stage.newFleet()
  await assert.rejects(joinFleet(await membership(context, ring, fleet, directory)), {
    message:
      /^The host in .* was not stopped in order, or "lupine fleet leave" .*: @fixtures\/hello is loading\. Start a host there once/,
  })
  const again = await openTestJournal(directory)
  await again.append([{ type: 'PluginUnloaded', plugin: id, data: {} }], 'shutdown')
  await again.close()
  const [oldest] = await findSegments(systemFileSystem, directory)
  assert.ok(oldest !== undefined)
  const bytes = await readFile(oldest.path)
  await rm(oldest.path)
  await assert.rejects(joinFleet(await membership(context, ring, fleet, directory)), {
    message:
      /^The journal in .* begins with event \d+: older files of it were moved away\. .*: put them back for this\.$/,
  })
  await writeFile(oldest.path, bytes)
  assert.equal((await joinFleet(await membership(context, ring, fleet, directory))).as, 'first')
})

test('the commands say what was done, and nothing of them is called for a bad key file or store', async (context) => {
  const { secretKeyFile } = await keyFile(context)
  const { directory } = await stoppedHost(context, secretKeyFile, ['one'])
  const place = await newPlace(context)
  const settings = { servers: [stage.url()], fleet: stage.newFleet(), secretKeyFile }
  const { fleet } = settings
  assert.deepEqual(await joinCommand({ ...settings, dataDirectory: directory }), {
    isComplete: true,
    text:
      `The fleet ${fleet} begins with the journal of ${directory}: 1 plugin.\n` +
      `${directory} is as it was. Keep it as a copy; start no host in it while the fleet runs.\n`,
  })
  const { directory: second } = await stoppedHost(context, secretKeyFile, ['one'])
  const later = await joinCommand({ ...settings, dataDirectory: second })
  assert.equal(later.isComplete, false)
  assert.match(
    later.text,
    /^The fleet .* has taken 0 plugins of .*\nNot taken: fixtures \(.*\nNot taken: @fixtures\/one \(/,
  )
  const left = await leaveCommand({ ...settings, dataDirectory: place })
  assert.equal(left.isComplete, true)
  assert.match(
    left.text,
    /^.* holds all of the fleet .* up to event \d+: 1 plugin, stored values of 1\.\nThe fleet is as it was: start no host of it/,
  )
  const other = { ...settings, dataDirectory: directory }
  await assert.rejects(joinCommand({ ...other, secretKeyFile: `${secretKeyFile}-none` }), {
    message: /^HOST_SECRET_KEY_FILE cannot be used: /,
  })
  await assert.rejects(joinCommand({ ...other, servers: ['nats://127.0.0.1:1'] }), {
    message: /^The fleet's store at nats:\/\/127\.0\.0\.1:1 cannot be reached/,
  })
})

test('a fleet is not left while a host is at work in it; what a dead one has left behind is no obstacle', async (context) => {
  const { secretKeyFile, ring } = await keyFile(context)
  const { directory } = await stoppedHost(context, secretKeyFile, ['one'])
  const fleet = stage.newFleet()
  await joinFleet(await membership(context, ring, fleet, directory))
  const bucket = await openLeaseBucket(await stage.connection(context), leaseBuckets(fleet).hosts, undefined)
  await bucket.write('dead', '{}', 0)
  let revision = await bucket.write('alive', '{}', 0)
  let isAtWork = true
  const clock: Clock = {
    ...systemClock,
    schedule(milliseconds, callback) {
      if (milliseconds !== leaseTiming.takeOverAfter) return systemClock.schedule(milliseconds, callback)
      const renewed = isAtWork ? bucket.write('alive', '{}', revision ?? 0) : Promise.resolve(revision)
      void renewed.then((next) => {
        revision = next
        callback()
      })
      return { cancel: () => undefined }
    },
  }
  const place = await newPlace(context)
  const settings = { ...(await membership(context, ring, fleet, place)), clock }
  await assert.rejects(leaveFleet(settings), {
    message: /^Hosts are at work in the fleet .* \(alive\); stop them first, so that nothing is missing\.$/,
  })
  await assert.rejects(stat(place), { code: 'ENOENT' })
  isAtWork = false
  assert.deepEqual((await leaveFleet(settings)).plugins, ['@fixtures/one'])
})
