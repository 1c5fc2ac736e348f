import assert from 'node:assert/strict'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestHost } from '../helpers/test-host.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

test('a host whose key is lost starts with what the page on security says of that: only secrets and history are gone', async (context) => {
  const folder = await temporaryDirectory(context)
  const secretKeyFile = join(folder, 'key')
  await writeFile(secretKeyFile, 'ab'.repeat(32), { mode: 0o600 })
  const keeper = {
    id: 'keeper',
    lua: `
local plugin = Plugin:new("keeper")
plugin:onInit(function(config)
  plugin:kvSet("seen", 1)
  plugin:upsertObject("seen", { key = config.apiKey, city = config.city })
end)`,
  }
  let host = await startTestHost({ plugins: [keeper], settings: { secretKeyFile } })
  context.after(() => host.close())
  const config = { apiKey: 'from before', city: 'Ulm' }
  for (const [method, path, body] of [
    ['POST', '/api/plugins/install', { fullId: '@fixtures/keeper' }],
    ['POST', '/api/plugins/keeper/config', { config }],
    ['PUT', '/api/plugins/keeper/limits', { limits: { timers: 7 } }],
    ['POST', '/api/plugins/keeper/toggle', {}],
  ] as const) {
    assert.ok((await host.request(method, path, { body })).status < 300, path)
  }
  await host.host.close()
  await writeFile(secretKeyFile, 'cd'.repeat(32), { mode: 0o600 })
  await assert.rejects(host.restart(), /add the missing key/)

  const unreadable = /^\.host\.(journal.*|checkpoint)$|^\.kv$/
  for (const name of (await readdir(host.directory)).filter((each) => unreadable.test(each))) {
    await rename(join(host.directory, name), join(folder, name))
  }
  const file = join(host.directory, '.host.json')
  const text = await readFile(file, 'utf8')
  assert.match(text, /"\$encrypted:/)
  await writeFile(file, text.replaceAll(/"\$encrypted:[^"]*"/g, '"from now on"'))
  host = await host.restart()
  const { body } = await host.request('GET', '/api/plugins/keeper')
  const { state, version, limits } = body as { state: string; version: string; limits: { set: unknown } }
  assert.deepEqual([state, version, limits.set], ['running', '1.0.0', { timers: 7 }])
  const objects = await host.request('GET', '/api/plugins/keeper/objects')
  assert.deepEqual(objects.body, { objects: { seen: { key: 'from now on', city: 'Ulm' } } })
  await host.host.close()
  assert.ok(!(await readFile(file, 'utf8')).includes('from now on'))
})
