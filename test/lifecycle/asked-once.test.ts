import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { keptSockets } from '../helpers/kept-sockets.ts'
import { listen } from '../helpers/listen.ts'
import { command, installAndStart, startHostFor } from '../helpers/test-host.ts'

test('what a host without a fleet refuses is asked of a repository once, whatever it writes down meanwhile', async (context) => {
  const host = await startHostFor(context)
  await installAndStart(host, 'hello')
  let readings = 0
  let meanwhile = (): Promise<unknown> => Promise.resolve()
  const server = createServer((request, response) => {
    readings += 1
    void meanwhile()
      .then(() => readFile(join(host.repository, request.url ?? '')))
      .then((content) => response.end(content))
  })
  keptSockets(context, server)
  const url = `http://127.0.0.1:${await listen(server)}`
  const added = await host.request('POST', '/api/repositories', { body: { name: 'far', url } })
  assert.equal(added.status, 201)
  readings = 0
  meanwhile = () => command(host, 'hello/toggle')
  const body = { fullId: '@fixtures/nobody', repository: 'far' }
  const refused = await host.request('POST', '/api/plugins/install', { body })
  assert.deepEqual([refused.body.code, readings], ['plugin_not_in_repository', 1])
})
