import assert from 'node:assert/strict'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createHttpGet, systemNetwork } from '../../../src/repository/sources/http-get.ts'
import { listen } from '../../helpers/listen.ts'

test('a file without a length is no file when its connection breaks off instead of ending', async (context) => {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nhalf'))
  })
  const port = await listen(server)
  context.after(() => server.close())
  const get = createHttpGet(systemNetwork)
  const ask = async (end: (socket: Socket | undefined) => void): Promise<string> => {
    const { body } = await get(new URL(`http://127.0.0.1:${port}/`), {
      headers: {},
      signal: new AbortController().signal,
      refuse: () => undefined,
    })
    const chunks: unknown[] = []
    for await (const chunk of body) {
      chunks.push(chunk)
      end(sockets.at(-1))
    }
    return chunks.join('')
  }
  assert.equal(await ask((socket) => socket?.end()), 'half')
  await assert.rejects(
    ask((socket) => socket?.resetAndDestroy()),
    { code: 'ECONNRESET' },
  )
})

test('a server may say that it sends a file as it is, or say nothing of it, beside an encoding as well', async (context) => {
  const server = createServer((socket) =>
    socket.once('data', (request) => {
      const [, encoding = ''] = /^GET \/(\S*)/.exec(request.toString()) ?? []
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: ${encoding}\r\n\r\n`)
      socket.end(/gzip/i.test(encoding) ? gzipSync('whole') : 'whole')
    }),
  )
  const port = await listen(server)
  context.after(() => server.close())
  const get = createHttpGet(systemNetwork)
  for (const encoding of [
    '',
    'Identity',
    ',',
    'GZIP',
    'X-Gzip',
    'gzip,',
    'identity,gzip',
    'gzip,,Identity',
  ]) {
    const { body, unknownEncoding } = await get(new URL(`http://127.0.0.1:${port}/${encoding}`), {
      headers: {},
      signal: new AbortController().signal,
      refuse: () => undefined,
    })
    assert.equal(unknownEncoding, undefined)
    assert.equal((await body.toArray()).join(''), 'whole')
  }
})

test('a connection that was kept is not used where its address may not be asked any more', async (context) => {
  let asked = 0
  const server = createHttpServer((_request, response) => {
    asked += 1
    response.end('there')
  })
  const port = await listen(server)
  context.after(() => server.close())
  const get = createHttpGet(systemNetwork)
  const ask = async (refuse: (address: string) => Error | undefined): Promise<unknown[]> => {
    const { signal } = new AbortController()
    const { body } = await get(new URL(`http://localhost:${port}/`), { headers: {}, signal, refuse })
    return body.toArray()
  }
  assert.equal((await ask(() => undefined)).join(''), 'there')
  await assert.rejects(
    ask((address) => new Error(`not ${address}`)),
    /^Error: not 127\.0\.0\.1$/,
  )
  assert.equal(asked, 1)
})
