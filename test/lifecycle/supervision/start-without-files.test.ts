import assert from 'node:assert/strict'
import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createDeferred } from '../../../src/base/time/deferred.ts'
import { pluginsAtOnce } from '../../../src/lifecycle/supervision/dependency-order.ts'
import { command, installAndStart, startHostFor } from '../../helpers/test-host.ts'
import { serve, startServer } from '../../repository/repository-fixture.ts'
import { clock } from '../silent-repository.ts'

const ids = Array.from({ length: pluginsAtOnce }, (_, position) => `p${position}`)
const files = ids.flatMap((id) => [
  [`${id}/plugin.json`, JSON.stringify({ id, name: id, version: '1.0.0' })],
  [`${id}/init.lua`, `return Plugin:new("${id}")`],
])
const plugins = ids.map((id) => ({ id, name: id, version: '1.0.0', path: id }))
const tree: Record<string, string> = {
  ...Object.fromEntries(files),
  'plugins.json': JSON.stringify({ version: 1, name: 'Test plugins', namespace: 'test', plugins }),
}

test('plugins whose files are gone, and whose repository does not answer at the start, keep no other one waiting', async (context) => {
  const server = await startServer(context, serve(tree))
  const loaded = createDeferred<undefined>()
  const host = await startHostFor(context, {
    clock,
    plugins: [{ id: 'near', lua: 'return Plugin:new("near")' }],
    logger: {
      ...silentLogger,
      // It is said as the plugin is loaded.
      warn(message, fields) {
        if (message.startsWith('Files of a plugin have changed') && fields?.plugin === '@fixtures/near')
          loaded.resolve(undefined)
      },
    },
  })
  await host.request('POST', '/api/repositories', { body: { name: 'test', url: server.url } })
  for (const id of ids) {
    await command(host, 'install', { fullId: `@test/${id}` })
    await command(host, `${id}/toggle`)
  }
  await installAndStart(host, 'near')
  await host.host.close()
  for (const id of ids) await rm(join(host.directory, 'plugins', `test--${id}`), { recursive: true })
  await appendFile(join(host.directory, 'plugins', 'fixtures--near', 'init.lua'), '-- mine')
  const held: (() => void)[] = []
  server.handle = (request, response) => void held.push(() => serve(tree)(request, response))
  const restarting = host.restart()
  await loaded.promise
  server.handle = serve(tree)
  for (const go of held) go()
  const { plugins: list } = (await (await restarting).request('GET', '/api/plugins')).body
  assert.deepEqual(new Set(list.map(({ state }: { state: string }) => state)), new Set(['running']))
})
