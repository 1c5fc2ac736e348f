import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { defaultRepositoryLimits as limits } from '../../../src/repository/limits.ts'
import { createHttpSource } from '../../../src/repository/sources/http-source.ts'
import { serve, startServer } from '../repository-fixture.ts'

const { signal } = new AbortController()

async function stage(context: TestContext, files: Record<string, string> = {}) {
  const server = await startServer(context, serve(files))
  const source = createHttpSource(`${server.url}base/`, { clock: systemClock, limits, hostVersion: '1.0.0' })
  return { server, source }
}

test('for a path that leads out of the repository, however a server may read it, nobody is asked', async (context) => {
  const { server, source } = await stage(context, { secret: 'x' })
  const paths = ['../secret', 'a/../../secret', '..', '/secret', 'a//b', '..\\secret', '%2e%2e/secret', '']
  for (const path of paths)
    await assert.rejects(source.readFile(path, 100, signal), /is not a path inside the repository$/)
  assert.deepEqual(server.requests, [])
})

test('an index and its signature come past every cache, files of plugins may come out of one', async (context) => {
  const names = ['plugins.json', 'plugins.json.minisig', 'init.lua']
  const { server, source } = await stage(
    context,
    Object.fromEntries(names.map((name) => [`base/${name}`, name])),
  )
  await source.readIndex(undefined, signal)
  for (const name of names.slice(1)) await source.readFile(name, 100, signal)
  const asked = server.requests.map(({ path, headers }) => [path, headers['cache-control']])
  assert.deepEqual(asked, [
    ['/base/plugins.json', 'no-cache'],
    ['/base/plugins.json.minisig', 'no-cache'],
    ['/base/init.lua', undefined],
  ])
})

test('what a server sends beside a refusal or a redirection without end is not waited for', async (context) => {
  const { server, source } = await stage(context, { 'base/b': 'there' })
  const serveFiles = server.handle
  const endless: ServerResponse[] = []
  server.handle = (request, response) => {
    const [status, location] = request.url === '/base/a' ? [302, 'b'] : [404, '']
    if (request.url === '/base/b') serveFiles(request, response)
    else endless.push(response.writeHead(status, { location }))
    endless.at(-1)?.write('x')
  }
  assert.equal(await source.readFile('gone', 100, signal), undefined)
  assert.equal(String(await source.readFile('a', 100, signal)), 'there')
  assert.equal(endless.length, 2)
  for (const response of endless) if (!response.closed) await once(response, 'close')
})
