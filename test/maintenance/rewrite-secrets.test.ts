import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { type FileSystem, systemFileSystem } from '../../src/base/files/file-system.ts'
import { createKeyRing, keyId } from '../../src/base/keys/key-ring.ts'
import { encodeLine } from '../../src/journal/lines/journal-line.ts'
import { makeSecretKey, rewriteDirectory } from '../../src/maintenance/secret-commands.ts'
import { type Rewritten, rewriteSecrets } from '../../src/maintenance/rewrite-secrets.ts'
import { textOf } from '../helpers/content-of.ts'
import { failingFileSystem } from '../helpers/failing-file-system.ts'
import type { FixturePlugin } from '../helpers/fixture-repository.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const [old, young] = [randomBytes(32), randomBytes(32)]
const canaries = { apiKey: 'canary-of-the-config', token: 'canary-of-the-store', pin: 'canary-of-a-field' }

const keeper: FixturePlugin = {
  id: 'keeper',
  lua: `
local plugin = Plugin:new("keeper")
plugin:onInit(function(config)
  plugin:kvSet("token", "${canaries.token}", nil, { secure = true })
  plugin:upsertObject("seen", { key = #(config.apiKey or ""), pin = #(config.pin or "") })
end)
return plugin`,
  manifest: { config: { pin: { type: 'string', secret: true }, city: { type: 'string' } } },
}

/** A data directory with two configurations in its history, one store, and a repository with a password. */
async function usedDirectory(secretKeyFile: string | undefined): Promise<TestHost> {
  const index = JSON.stringify({ version: 1, name: 'Web', namespace: 'web', plugins: [] })
  const server = createServer((_, response) => void response.end(index)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const host = await startTestHost({ plugins: [keeper], settings: { secretKeyFile } })
  const steps: [string, unknown][] = [
    ['/api/plugins/install', { fullId: '@fixtures/keeper' }],
    ['/api/plugins/keeper/config', { config: { apiKey: 'canary-of-before', city: 'Ulm' } }],
    ['/api/plugins/keeper/config', { config: { apiKey: canaries.apiKey, pin: canaries.pin, city: 'Ulm' } }],
    ['/api/plugins/keeper/toggle', {}],
    ['/api/repositories', { name: 'web', url: `http://reader:canary-of-an-address@127.0.0.1:${port}/` }],
  ]
  for (const [path, body] of steps) assert.ok((await host.request('POST', path, { body })).status < 300, path)
  // Who is only looked at later need not answer.
  server.closeAllConnections()
  server.close()
  return host
}

function rotate(directory: string, keys: Buffer[], files: FileSystem = systemFileSystem): Promise<Rewritten> {
  return rewriteSecrets({
    directory,
    files,
    clock: systemClock,
    ring: createKeyRing(keys),
    purpose: 'rotate',
  })
}

async function assertRuns(host: TestHost): Promise<void> {
  const objects = await host.request('GET', '/api/plugins/keeper/objects')
  const lengths = { key: canaries.apiKey.length, pin: canaries.pin.length }
  assert.deepEqual(objects.body, { objects: { seen: lengths } })
}

test('with a key file nothing secret is readable on disk, the rest is, and the host starts with it again', async (context) => {
  const keyFile = join(await temporaryDirectory(context), 'key')
  await writeFile(keyFile, old.toString('hex'), { mode: 0o600 })
  let host = await usedDirectory(keyFile)
  context.after(() => host.close())
  for (let turn = 0; turn < 2; turn += 1) {
    await assertRuns(host)
    await host.host.close()
    const content = await textOf(host.directory)
    assert.ok(!content.includes('canary'), 'a secret is in plain text')
    assert.ok(content.includes('"city": "Ulm"'), 'the rest can be read')
    host = await host.restart()
  }
})

test('a plain directory opens with a key, a plain secret written by hand is taken and encrypted', async (context) => {
  const keyFile = join(await temporaryDirectory(context), 'key')
  await writeFile(keyFile, old.toString('hex'), { mode: 0o600 })
  const first = await usedDirectory(undefined)
  context.after(() => first.close())
  await first.host.close()
  const path = join(first.directory, '.host.json')
  const text = await readFile(path, 'utf8')
  assert.ok(text.includes(canaries.apiKey))
  await writeFile(path, text.replace(canaries.apiKey, 'canary-by-hand'))
  const second = await startTestHost({ plugins: [keeper], settings: { secretKeyFile: keyFile } })
  context.after(() => second.close())
  await second.host.close()
  await cp(first.directory, second.directory, { recursive: true })
  const third = await second.restart()
  context.after(() => third.close())
  const { body } = await third.request('GET', '/api/plugins/keeper/history')
  assert.ok(body.events.some((event: any) => event.type === 'PluginConfigured' && event.by === 'file'))
  await third.host.close()
  assert.ok(!(await readFile(path.replace(first.directory, third.directory), 'utf8')).includes('canary'))
  const journal = await readFile(join(third.directory, '.host.journal'), 'utf8')
  const last = journal.split('\n').findLast((line) => line.includes('PluginConfigured')) ?? ''
  assert.match(last, /"apiKey":"\$encrypted:v1:/)
  await rotate(third.directory, [old])
  assert.ok(!(await textOf(third.directory)).includes('canary'), 'what was plain before is encrypted, too')
})

test('a rotation that fails at any place leaves a directory that both keys open, and is done by doing it again', async (context) => {
  const keyFile = join(await temporaryDirectory(context), 'key')
  await writeFile(keyFile, old.toString('hex'), { mode: 0o600 })
  const host = await usedDirectory(keyFile)
  context.after(() => host.close())
  await host.host.close()
  const both = [young, old]
  let failedPlaces = 0
  for (let place = 1; ; place += 1) {
    const directory = await temporaryDirectory(context)
    await cp(host.directory, directory, { recursive: true })
    let calls = 0
    let failing = true
    const files = failingFileSystem((_operation, path) => {
      // Reading does no harm; what is written, synced and renamed does.
      if (!failing || !path.startsWith(directory)) return false
      calls += 1
      return calls >= place
    })
    const outcome = await rotate(directory, both, files).then(
      () => 'done',
      () => 'failed',
    )
    failing = false
    if (outcome === 'done') {
      assert.ok(calls < place)
      break
    }
    failedPlaces += 1
    const before = await textOf(directory)
    assert.ok(!before.includes('canary'))
    // Whatever was reached: all can still be opened, and the second attempt needs nothing of the first.
    await rotate(directory, both)
    const after = await textOf(directory)
    assert.ok(!after.includes(keyId(old)) && after.includes(keyId(young)), `place ${place}`)
    await rotate(directory, [young])
  }
  assert.ok(failedPlaces > 10, String(failedPlaces))
})

test('after a rotation the host starts with the new key alone, and after decrypting without one', async (context) => {
  const keyFile = join(await temporaryDirectory(context), 'key')
  await writeFile(keyFile, old.toString('hex'), { mode: 0o600 })
  let host = await usedDirectory(keyFile)
  context.after(() => host.close())
  await host.host.close()
  const rewritten = await rotate(host.directory, [young, old])
  assert.equal(rewritten.stores, 1)
  assert.deepEqual(rewritten.leftOut, [])
  await assert.rejects(host.restart(), /^StartError: Secrets are encrypted with the key/)
  await writeFile(keyFile, young.toString('base64'), { mode: 0o600 })
  host = await host.restart()
  await assertRuns(host)
  await host.host.close()
  await rewriteSecrets({
    directory: host.directory,
    files: systemFileSystem,
    clock: systemClock,
    ring: createKeyRing([young]),
    purpose: 'decrypt',
  })
  const content = await textOf(host.directory)
  assert.ok(!content.includes('$encrypted'))
  for (const canary of [...Object.values(canaries), 'canary-of-before', 'canary-of-an-address'])
    assert.ok(content.includes(canary))
})

test('stored values that cannot be read stop a rotation before anything is changed: they would keep a key that nobody keeps', async (context) => {
  const keyFile = join(await temporaryDirectory(context), 'key')
  await writeFile(keyFile, old.toString('hex'), { mode: 0o600 })
  const host = await usedDirectory(keyFile)
  context.after(() => host.close())
  await host.host.close()
  const before = await textOf(host.directory)
  const files: FileSystem = {
    ...systemFileSystem,
    readFile: ((path: string, options: undefined) =>
      path.includes('.kv')
        ? Promise.reject(Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' }))
        : systemFileSystem.readFile(path, options)) as FileSystem['readFile'],
  }
  await assert.rejects(
    rotate(host.directory, [young, old], files),
    /^Error: The stored values in .*fixtures--keeper\.json cannot be read \(EIO\); .*Nothing was changed\.$/,
  )
  assert.equal(await textOf(host.directory), before)
})

test('where something keeps its key, a rotation does not say that the directory needs the former one no more', async (context) => {
  const keyFile = join(await temporaryDirectory(context), 'key')
  await writeFile(keyFile, old.toString('hex'), { mode: 0o600 })
  const host = await usedDirectory(keyFile)
  context.after(() => host.close())
  await host.host.close()
  const wholly = await rewriteDirectory(host.directory, createKeyRing([young, old]), 'rotate')
  assert.match(wholly, /^This directory does not need /m)
  // As a newer version may write it.
  const newer = join(host.directory, '.kv', 'fixtures--other.json')
  await writeFile(newer, `${encodeLine({ version: 99, sealed: 'something' })}\n`, { mode: 0o600 })
  const text = await rewriteDirectory(host.directory, createKeyRing([young, old]), 'rotate')
  assert.match(text, /^Apart from what is named below, this directory does not need /m)
  assert.match(text, /^Not changed: .*fixtures--other\.json \(.*newer Lupine/m)
})

test('who puts a new key on top is told when the older ones can go, and that they stay in a fleet', async (context) => {
  const key = join(await temporaryDirectory(context), 'key')
  await makeSecretKey(key)
  assert.match(await makeSecretKey(key), /single host.*rotate-key".*other lines can go.*fleet.*they stay/s)
})
