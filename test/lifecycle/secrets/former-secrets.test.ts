import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FixturePlugin } from '../../helpers/fixture-repository.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { startHostFor, type TestHost } from '../../helpers/test-host.ts'
import { hiddenValue as hidden } from '../../../src/schema/plugin/hidden-value.ts'

/** A secret that the next version does not declare any more is one still, wherever it can be read. */

const path = '/api/plugins/@fixtures/door'
const door = (version: string, configSchema: object[]): FixturePlugin => ({
  id: 'door',
  version,
  lua: `local plugin = Plugin:new("door")
    plugin:onInit(function(config) plugin:log("info", "opens with " .. tostring(config.phrase)) end)`,
  manifest: { configSchema },
})
const url = { key: 'url', type: 'string' }
const withSecrets = door('1.0.0', [
  url,
  { key: 'phrase', type: 'string', secret: true },
  { key: 'digits', type: 'number', secret: true },
  {
    key: 'rooms',
    type: 'list',
    fields: [{ key: 'name' }, { key: 'code', secret: true }, { key: 'digits', type: 'number', secret: true }],
  },
])
const without = door('2.0.0', [url])
const config = {
  url: 'http://a.example',
  phrase: 'canary-phrase',
  digits: 918_273,
  rooms: [{ name: 'hall', code: 'canary-code', digits: 645_546 }],
}
const shown = {
  ...config,
  phrase: hidden,
  digits: hidden,
  rooms: [{ name: 'hall', code: hidden, digits: hidden }],
}
const anySecret = /canary|918273|645546/

/** All that callers see of the plugin, and all that is on disk, but for its own files. */
async function everything({ request, directory }: TestHost): Promise<string> {
  const get = async (address: string) => (await request('GET', address)).body
  const answers = [
    await get('/api/plugins'),
    await get(path),
    await get(`${path}/versions`),
    await get(`${path}/history`),
    await get(`${path}/logs`),
    await get('/api/suggestions?kind=host'),
    (await request('POST', `${path}/config/check`, { body: { config: shown } })).body,
    (await request('POST', `${path}/update/check`, { body: {} })).body,
  ]
  const files = (await readdir(directory, { withFileTypes: true })).filter((entry) => entry.isFile())
  const contents = await Promise.all(files.map(({ name }) => readFile(join(directory, name), 'utf8')))
  return [...answers.map((answer) => JSON.stringify(answer)), ...contents].join('\n')
}

test('a secret that an update does not declare any more stays hidden, encrypted and usable', async (context) => {
  const directory = await temporaryDirectory(context)
  const secretKeyFile = join(directory, 'key')
  await writeFile(secretKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 })
  let host = await startHostFor(context, { plugins: [withSecrets], settings: { secretKeyFile } })
  const { request } = host
  await request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/door' } })
  assert.equal((await request('POST', `${path}/config`, { body: { config } })).status, 200)
  await host.publish([without])
  assert.equal((await request('POST', `${path}/update`, { body: {} })).body.version, '2.0.0')
  assert.equal((await request('POST', `${path}/toggle`)).body.state, 'running')
  assert.deepEqual((await request('GET', path)).body.config, shown)
  assert.match((await request('GET', `${path}/logs`)).body.logs[0].message, /^opens with (?!canary)/)
  assert.doesNotMatch(await everything(host), anySecret)

  // What is sent back as it was shown keeps the values: the way back finds them.
  const changed = { ...shown, url: 'http://b.example' }
  assert.equal((await request('POST', `${path}/config`, { body: { config: changed } })).status, 200)
  host = await host.restart()
  assert.deepEqual((await host.request('GET', path)).body.config, changed)
  assert.doesNotMatch(await everything(host), anySecret)

  assert.equal((await host.request('POST', `${path}/rollback`, { body: {} })).body.version, '1.0.0')
  assert.deepEqual((await host.request('GET', path)).body.config, shown)
  assert.doesNotMatch(await everything(host), anySecret)
})

test('a secret that only the version declared which a rollback leaves stays hidden and encrypted', async (context) => {
  const directory = await temporaryDirectory(context)
  const secretKeyFile = join(directory, 'key')
  await writeFile(secretKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 })
  const plugins = [{ ...without, version: '1.0.0' }]
  let host = await startHostFor(context, { plugins, settings: { secretKeyFile } })
  const { request } = host
  await request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/door' } })
  await host.publish([{ ...withSecrets, version: '2.0.0' }])
  assert.equal((await request('POST', `${path}/update`, { body: {} })).body.version, '2.0.0')
  assert.equal((await request('POST', `${path}/config`, { body: { config } })).status, 200)
  const { body } = await request('POST', `${path}/rollback`, { body: {} })
  assert.deepEqual([body.version, body.fields.map(({ key }: { key: string }) => key)], ['1.0.0', ['url']])
  assert.doesNotMatch(await everything(host), anySecret)
  host = await host.restart()
  assert.doesNotMatch(await everything(host), anySecret)
  assert.equal((await host.request('POST', `${path}/rollback`, { body: {} })).body.version, '2.0.0')
  assert.deepEqual((await host.request('GET', path)).body.config, shown)
})

test('what was a secret before a plugin was removed is not shown when another version is installed', async (context) => {
  const host = await startHostFor(context, { plugins: [withSecrets] })
  const { request } = host
  await request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/door' } })
  await request('POST', `${path}/config`, { body: { config } })
  await request('DELETE', path)
  await host.publish([without])
  const again = await request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/door' } })
  assert.equal(again.body.version, '2.0.0')
  const { body } = await request('GET', `${path}/history`)
  const told = body.events.filter(({ type }: { type: string }) => type === 'PluginConfigured')
  assert.deepEqual(
    told.map(({ data }: { data: unknown }) => data),
    [{ config: shown }],
  )
})

for (const restarts of [false, true]) {
  const when = restarts ? 'while no host runs' : 'while the host runs'
  test(`secrets stay hidden when another version takes the place of files that were lost ${when}`, async (context) => {
    const directory = await temporaryDirectory(context)
    const secretKeyFile = join(directory, 'key')
    await writeFile(secretKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 })
    let host = await startHostFor(context, { plugins: [withSecrets], settings: { secretKeyFile } })
    await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/door' } })
    await host.request('POST', `${path}/config`, { body: { config } })
    await host.publish([door('2.0.0', [url, { key: 'rooms', type: 'list', fields: [{ key: 'name' }] }])])
    await rm(join(host.directory, 'plugins', 'fixtures--door'), { recursive: true })
    if (restarts) host = await host.restart()
    assert.doesNotMatch(await everything(host), anySecret)
    const { body } = await host.request('POST', `${path}/toggle`)
    assert.deepEqual([body.version, body.state], ['2.0.0', 'running'])
    assert.deepEqual(body.config, shown)
    assert.doesNotMatch(await everything(host), anySecret)
  })
}

test('nothing more is hidden when the files that take the place of lost ones declare the same', async (context) => {
  let host = await startHostFor(context, { plugins: [without] })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/door' } })
  await host.request('POST', `${path}/config`, { body: { config: { room: 'hall' } } })
  await host.publish([{ ...without, lua: `${without.lua}\n` }])
  await rm(join(host.directory, 'plugins', 'fixtures--door'), { recursive: true })
  host = await host.restart()
  const { body } = await host.request('POST', `${path}/toggle`)
  assert.deepEqual([body.state, body.config], ['running', { room: 'hall' }])
})
