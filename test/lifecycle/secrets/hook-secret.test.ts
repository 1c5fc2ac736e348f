import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { systemFileSystem } from '../../../src/base/files/file-system.ts'
import { createKeyRing } from '../../../src/base/keys/key-ring.ts'
import { rewriteSecrets } from '../../../src/maintenance/rewrite-secrets.ts'
import { textOf } from '../../helpers/content-of.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { installAndStart, startHostFor, type TestHost } from '../../helpers/test-host.ts'

const ringer = {
  id: 'ringer',
  lua: `local plugin = Plugin:new("ringer")
    plugin:onInit(function() plugin:httpHandler("bell", function() return "rang" end) end)`,
}

async function secretOf(host: TestHost): Promise<string> {
  const { body } = await host.request('GET', '/api/plugins/ringer/hooks')
  return /ringer\/([^/]+)\/bell$/.exec(body.hooks[0].url)?.[1] ?? ''
}

test('the secret of hook addresses is not readable on disk with a key, and is the same after a restart', async (context) => {
  const key = randomBytes(32)
  const secretKeyFile = join(await temporaryDirectory(context), 'key')
  await writeFile(secretKeyFile, key.toString('hex'), { mode: 0o600 })
  const first = await startHostFor(context, {
    plugins: [ringer],
    settings: { secretKeyFile },
    segmentBytes: 1,
  })
  await installAndStart(first, 'ringer')
  const made = await secretOf(first)
  assert.ok(made.length >= 16)
  // Into the state at the top of the next segment, too.
  for (let count = 0; count < 5; count += 1)
    await first.request('POST', '/api/plugins/ringer/config', { body: { config: { count } } })
  const second = await first.restart()
  assert.equal(await secretOf(second), made)
  assert.equal((await second.request('POST', `/hooks/fixtures/ringer/${made}/bell`)).body, 'rang')
  await second.host.close()
  assert.equal((await textOf(second.directory)).includes(made), false)

  const settings = { directory: second.directory, files: systemFileSystem, clock: systemClock }
  await rewriteSecrets({ ...settings, ring: createKeyRing([key]), purpose: 'decrypt' })
  assert.ok((await textOf(second.directory)).includes(made))
  const ring = createKeyRing([randomBytes(32), key])
  await rewriteSecrets({ ...settings, ring, purpose: 'rotate' })
  assert.equal((await textOf(second.directory)).includes(made), false)
})

test('a plugin that is installed again has other addresses, an update keeps them', async (context) => {
  const host = await startHostFor(context, { plugins: [ringer] })
  const post = (path: string, body: object = {}) => host.request('POST', `/api/plugins/${path}`, { body })
  await post('install', { fullId: '@fixtures/ringer' })
  await post('ringer/toggle')
  const made = await secretOf(host)
  await host.publish([{ ...ringer, version: '2.0.0' }])
  assert.equal((await post('ringer/update')).body.version, '2.0.0')
  assert.equal(await secretOf(host), made)
  await host.request('DELETE', '/api/plugins/ringer')
  await post('install', { fullId: '@fixtures/ringer' })
  await post('ringer/toggle')
  assert.notEqual(await secretOf(host), made)
})
