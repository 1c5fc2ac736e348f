import assert from 'node:assert/strict'
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLogger } from '../../../src/base/log/log.ts'
import { createDeferred } from '../../../src/base/time/deferred.ts'
import { fetchesAtOnce } from '../../../src/lifecycle/running/fetch-queue.ts'
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

test('a plugin whose files are kept does not wait for its repository, which does not answer, nor for others of it', async (context) => {
  const ofKept = (version: string): Record<string, string> => ({
    ...tree,
    'plugins.json': JSON.stringify({
      ...{ version: 1, name: 'Test plugins', namespace: 'test' },
      plugins: [...plugins, { id: 'kept', name: 'kept', version, path: 'kept' }],
    }),
    'kept/plugin.json': JSON.stringify({ id: 'kept', name: 'kept', version }),
    'kept/init.lua': `Plugin:new("kept") print("kept ${version} runs")`,
  })
  const server = await startServer(context, serve(ofKept('1.0.0')))
  const ran = createDeferred<undefined>()
  const host = await startHostFor(context, {
    clock,
    logger: {
      ...silentLogger,
      info(message) {
        if (message.includes('kept 1.0.0 runs')) ran.resolve(undefined)
      },
    },
  })
  await host.request('POST', '/api/repositories', { body: { name: 'test', url: server.url } })
  for (const id of [...ids, 'kept']) await command(host, 'install', { fullId: `@test/${id}` })
  server.handle = serve(ofKept('2.0.0'))
  await command(host, 'kept/update')
  await host.host.close()
  for (const id of [...ids, 'kept'])
    await rm(join(host.directory, 'plugins', `test--${id}`), { recursive: true })
  // By hand: all are to run, and of one the version before.
  const path = join(host.directory, '.host.json')
  const { journal: _journal, ...file } = JSON.parse(await readFile(path, 'utf8'))
  for (const entry of file.plugins.installed) {
    entry.enabled = true
    if (entry.id !== '@test/kept') continue
    entry.version = '1.0.0'
    delete entry.integrity
  }
  await rm(join(host.directory, '.host.journal'))
  await writeFile(path, JSON.stringify(file))
  const held: (() => void)[] = []
  server.handle = (request, response) => void held.push(() => serve(tree)(request, response))
  const restarting = host.restart()
  await ran.promise
  server.handle = serve(tree)
  for (const go of held) go()
  await restarting
})

test('silent repositories have few of their plugins asked for at a time, and one that answers is fetched from meanwhile', async (context) => {
  const many = ids.slice(0, 10)
  const few = ids.slice(0, 3)
  const tells = (name: string): Record<string, string> => ({
    ...tree,
    'plugins.json': JSON.stringify({ version: 1, name, namespace: name, plugins }),
    ...Object.fromEntries(ids.map((id) => [`${id}/init.lua`, `Plugin:new("${id}") print("runs")`])),
  })
  const near = await startServer(context, serve(tells('near')))
  const far = [
    await startServer(context, serve(tells('one'))),
    await startServer(context, serve(tells('two'))),
  ]
  const loaded = createDeferred<undefined>()
  let running = 0
  const host = await startHostFor(context, {
    clock,
    logger: {
      ...silentLogger,
      info(message) {
        if (message.includes('runs') && (running += 1) === few.length) loaded.resolve(undefined)
      },
    },
  })
  const chosen = [
    ...far.map((server, index) => ({ name: ['one', 'two'][index] ?? '', server, wanted: many })),
    { name: 'near', server: near, wanted: few },
  ]
  for (const { name, server, wanted } of chosen) {
    await host.request('POST', '/api/repositories', { body: { name, url: server.url } })
    for (const id of wanted) await command(host, 'install', { fullId: `@${name}/${id}` })
  }
  await host.host.close()
  const path = join(host.directory, '.host.json')
  const file = JSON.parse(await readFile(path, 'utf8'))
  for (const entry of file.plugins.installed) entry.enabled = true
  await writeFile(path, JSON.stringify(file))
  await rm(join(host.directory, 'plugins'), { recursive: true })
  const held: (() => void)[] = []
  const asked = far.map((server, index) => {
    const { promise, resolve } = createDeferred<undefined>()
    const answer = serve(tells(['one', 'two'][index] ?? ''))
    server.handle = (request, response) => {
      if (request.url === '/plugins.json') {
        answer(request, response)
        return
      }
      held.push(() => answer(request, response))
      resolve(undefined)
    }
    return promise
  })
  const restarting = host.restart()
  await Promise.all([...asked, loaded.promise])
  assert.ok(held.length <= fetchesAtOnce, `${held.length} were asked for`)
  for (const [index, server] of far.entries()) server.handle = serve(tells(['one', 'two'][index] ?? ''))
  for (const go of held) go()
  const { plugins: list } = (await (await restarting).request('GET', '/api/plugins')).body
  assert.deepEqual(new Set(list.map(({ state }: { state: string }) => state)), new Set(['running']))
})
