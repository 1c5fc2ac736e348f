import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startHostFor } from '../../helpers/test-host.ts'

test('what a write that was killed left of a store goes with the store, and at the next start', async (context) => {
  let host = await startHostFor(context)
  const folder = join(host.directory, '.kv')
  const leaveBehind = async (name: string): Promise<void> => {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, `${name}.json.tmp`), '{"entries":{"token":')
  }
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
  await leaveBehind('fixtures--hello')
  assert.equal((await host.request('DELETE', '/api/plugins/hello?purge=kv')).status, 200)
  assert.deepEqual(await readdir(folder), [])
  await leaveBehind('fixtures--demo')
  host = await host.restart()
  assert.deepEqual(await readdir(folder), [])
})
