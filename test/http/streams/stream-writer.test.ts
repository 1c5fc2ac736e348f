import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { createStreamWriter } from '../../../src/http/streams/stream-writer.ts'
import { listen } from '../../helpers/listen.ts'

/** An answer of which a client reads nothing. */
async function unreadResponse(context: TestContext): Promise<ServerResponse> {
  const server = createServer()
  const port = await listen(server)
  context.after(() => server.close())
  const request = get({ host: '127.0.0.1', port }).on('error', () => undefined)
  context.after(() => request.destroy())
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  return response
}

test('of what waits for a client that is cut off nothing more is written, and nobody waits for it', async (context) => {
  const response = await unreadResponse(context)
  const writer = createStreamWriter(response)
  const { mock } = context.mock.method(response, 'write')
  writer.write(Buffer.alloc(40_000_000))
  for (let count = 0; count < 20; count += 1) writer.write(Buffer.alloc(50_000))
  assert.equal(writer.waiting, 41_000_000)
  const drained = writer.drained()
  response.destroy()
  await Promise.all([drained, once(response, 'close')])
  assert.equal(mock.callCount(), 1)
  assert.equal(writer.waiting, 0)
})
