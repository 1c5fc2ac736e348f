import assert from 'node:assert/strict'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startHostFor, type TestHost } from '../helpers/test-host.ts'

/** An uninstallation leaves the folder of a plugin, so that it can be installed again without its repository. */

const fullId = '@fixtures/hello'

async function uninstalled(context: TestContext): Promise<TestHost> {
  const host = await startHostFor(context)
  await host.request('POST', '/api/plugins/install', { body: { fullId } })
  await host.request('DELETE', '/api/plugins/hello')
  return host
}

const install = (host: TestHost, more: object = {}) =>
  host.request('POST', '/api/plugins/install', { body: { fullId, ...more } })

async function lastInstallation(host: TestHost) {
  const { events } = (await host.request('GET', `/api/plugins/${fullId}/history`)).body
  const { type, data } = events.at(-1)
  return [type, data.version, data.repository, data.source, Object.keys(data.integrity).includes('init.lua')]
}

const fromFolder = ['PluginInstalled', '1.0.0', 'fixtures', 'folder', true]

test('a plugin whose repository was removed is installed again from its folder', async (context) => {
  const host = await uninstalled(context)
  await host.request('DELETE', '/api/repositories/fixtures')
  const check = await host.request('POST', '/api/plugins/install/check', { body: { fullId } })
  assert.deepEqual([check.status, check.body.to, check.body.repository], [200, '1.0.0', 'fixtures'])
  const answer = await install(host, { repository: 'fixtures' })
  assert.deepEqual(
    [answer.status, answer.body.state, answer.body.repository],
    [201, 'installed', 'fixtures'],
    JSON.stringify(answer.body),
  )
  assert.deepEqual(await lastInstallation(host), fromFolder)
  const on = await host.request('POST', '/api/plugins/hello/toggle')
  assert.deepEqual([on.body.state, on.body.integrity.intact], ['running', true])
})

test('a plugin whose repository cannot be read is installed again from its folder, and updated when it can', async (context) => {
  const host = await uninstalled(context)
  await rename(host.repository, `${host.repository}-away`)
  assert.equal((await install(host)).status, 201)
  assert.deepEqual(await lastInstallation(host), fromFolder)
  await rename(`${host.repository}-away`, host.repository)
  assert.equal((await host.request('POST', '/api/plugins/hello/update', { body: {} })).status, 200)
})

test('a folder takes the place of nothing else: another repository by name, another version, files that are gone', async (context) => {
  const host = await uninstalled(context)
  await host.request('DELETE', '/api/repositories/fixtures')
  const codes = [
    (await install(host, { repository: 'elsewhere' })).body.code,
    (await install(host, { repository: 'fixtures', version: '3.0.0' })).body.code,
  ]
  await rm(join(host.directory, 'plugins', 'fixtures--hello'), { recursive: true })
  codes.push((await install(host)).body.code)
  assert.deepEqual(codes, ['repository_unknown', 'repository_unknown', 'plugin_not_in_repository'])
})
