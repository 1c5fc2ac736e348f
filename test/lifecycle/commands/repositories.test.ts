import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { basicAuthorization } from '../../../src/base/network/basic-authorization.ts'
import { listen } from '../../helpers/listen.ts'
import { startHostFor } from '../../helpers/test-host.ts'

test('the password and the query in the address of a repository are used, and shown to nobody', async (context) => {
  const host = await startHostFor(context)
  const server = createServer((request, response) => {
    const isAllowed =
      request.headers.authorization === basicAuthorization('me', 'canary') &&
      request.url?.endsWith('?token=canary') === true
    if (!isAllowed) response.writeHead(401).end()
    else createReadStream(join(host.repository, 'plugins.json')).pipe(response)
  })
  context.after(() => server.close())
  const place = `127.0.0.1:${await listen(server)}/plugins/`
  const url = `http://me:canary@${place}?token=canary`
  const ask = async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) =>
    (await host.request(method, path, body === undefined ? {} : { body })).body
  const known = { name: 'mine', url: `http://${place}`, namespace: 'fixtures', error: null }

  const added = await ask('POST', '/api/repositories', { name: 'mine', url })
  const listed = await ask('GET', '/api/repositories')
  for (const { repositories } of [added, listed]) {
    const { name, url: shownUrl, namespace, error } = repositories[1]
    assert.deepEqual({ name, url: shownUrl, namespace, error }, known)
  }
  const shown = [added, listed, await ask('GET', '/api/history'), await ask('GET', '/api/catalog')]
  // Another one at a wrong address, of which is said why it cannot be read.
  shown.push(await ask('POST', '/api/repositories', { name: 'wrong', url: url.replace('token', 'word') }))
  shown.push(await ask('DELETE', '/api/repositories/fixtures'))
  assert.doesNotMatch(JSON.stringify(shown), /canary/)
})
