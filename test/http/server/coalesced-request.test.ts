import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { coalescedRequests, piecesInTurn } from '../../../src/http/server/coalesced-request.ts'
import { listen } from '../../helpers/listen.ts'

/** Bytes of a connection that Node reads at a time, and of a chunk with one byte. */
const readBytes = 64 * 1_024
const chunkBytes = '1\r\nx\r\n'.length

/** A server that hears of requests, and how to send it one with these chunks. */
async function stage(t: TestContext, heard: (request: IncomingMessage) => void) {
  const server = createServer({ IncomingMessage: coalescedRequests() }, (request, response) => {
    heard(request)
    response.on('error', () => undefined)
  })
  const port = await listen(server)
  t.after(() => server.close())
  return (chunks: string): Socket => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    t.after(() => socket.destroy())
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    socket.write(`${chunks}0\r\n\r\n`)
    return socket
  }
}

test('a body that comes byte by byte is handed on in few pieces, as a whole', async (t) => {
  const pieces: Buffer[] = []
  let isRead = false
  const send = await stage(t, (request) => {
    request.on('data', (piece: Buffer) => pieces.push(piece)).on('end', () => (isRead = true))
  })
  const count = 60_000
  send(Array.from({ length: count }, (_, index) => `1\r\n${index % 10}\r\n`).join(''))
  while (!isRead) await setImmediate()
  assert.equal(Buffer.concat(pieces).toString(), '0123456789'.repeat(count / 10))
  assert.ok(pieces.length <= count / 100, `${pieces.length} pieces`)
})

test('of several bodies that come byte by byte one goes on in a turn', async (t) => {
  const [count, bytes] = [16, 60_000]
  let inTurn = 0
  let most = 0
  let read = 0
  const send = await stage(t, (request) => {
    let size = 0
    request
      .on('data', (piece: Buffer) => {
        size += piece.length
        // The first that is read of a body does not wait.
        if (size > readBytes / chunkBytes + piecesInTurn) inTurn += piece.length
        most = Math.max(most, inTurn)
      })
      .on('end', () => (read += size))
  })
  for (let number = 0; number < count; number += 1) send('1\r\nx\r\n'.repeat(bytes))
  while (read < count * bytes) {
    await setImmediate()
    inTurn = 0
  }
  // A turn of the test may have parts of two.
  assert.ok(most > 0 && most <= (2 * readBytes) / chunkBytes, `${most} bytes in one turn`)
})

test('a body that nobody reads is not read from the connection, be it in large pieces or small ones', async (t) => {
  for (const [name, chunk] of Object.entries({
    large: `4000\r\n${'x'.repeat(0x4000)}\r\n`,
    small: `64\r\n${'x'.repeat(100)}\r\n`,
  })) {
    const requests: IncomingMessage[] = []
    const send = await stage(t, (request) => requests.push(request))
    const chunks = chunk.repeat(Math.ceil((4 * 1_024 * 1_024) / chunk.length))
    send(chunks)
    while ((requests[0]?.readableLength ?? 0) < 16_384) await setImmediate()
    for (let turn = 0; turn < 500; turn += 1) await setImmediate()
    const [request] = requests
    assert.ok(
      request !== undefined && request.readableLength <= 4 * readBytes,
      `${name}: ${request?.readableLength}`,
    )
    let size = 0
    request.on('data', ({ length }: Buffer) => (size += length))
    await once(request, 'end')
    assert.equal(size, chunks.replaceAll(/[^x]/g, '').length, name)
  }
})
