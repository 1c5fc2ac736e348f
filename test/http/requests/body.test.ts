import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import { test } from 'node:test'
import { lingerPieces, lingeringAnswer } from '../../../src/http/requests/body.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { until } from '../../helpers/until.ts'

test('a refused body that comes byte by byte is not listened to as long as its bytes would last', async (t) => {
  const clock = createManualClock()
  let pieces = 0
  let answer: Readable | undefined
  const server = createServer((request, response) => {
    answer = lingeringAnswer(request, 'no', clock)
    request.on('data', () => {
      pieces += 1
    })
    response.setHeader('Connection', 'close')
    answer.pipe(response)
  })
  const port = await listen(server)
  t.after(() => server.close())
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  t.after(() => socket.destroy())
  const asked = once(server, 'request') as Promise<[IncomingMessage]>
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  const [request] = await asked
  socket.write('1\r\nx\r\n'.repeat(lingerPieces))
  await until('the pieces', () => Promise.resolve(pieces === lingerPieces))
  assert.deepEqual([answer?.readableEnded, clock.waiting], [false, 1])
  socket.write('1\r\nx\r\n')
  await until('one more', () => Promise.resolve(pieces > lingerPieces || request.destroyed))
  await until('the end of the answer', () => Promise.resolve(answer?.readableEnded))
  assert.equal(clock.waiting, 0)
})
