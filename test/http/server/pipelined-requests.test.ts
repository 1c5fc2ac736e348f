import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/time/clock.ts'
import { createHttpServer } from '../../../src/http/server/server.ts'

/** Gives a way to open connections to a server that handles requests like this. */
async function start(context: TestContext, handle: RequestListener): Promise<() => Promise<Socket>> {
  const server = createHttpServer({
    bind: '127.0.0.1',
    port: 0,
    clock: systemClock,
    handle,
    upgrade: (_request, socket) => socket.destroy(),
  })
  context.after(() => server.close())
  await server.start()
  return async () => {
    const socket = connect(server.port, '127.0.0.1')
    context.after(() => void socket.destroy())
    await once(socket, 'connect')
    return socket
  }
}

const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
const numbers = (count: number): string[] => Array.from({ length: count }, (_, number) => `/${number}`)

/** The bodies of this many answers, each one line. */
async function lines(socket: Socket, count: number): Promise<string[]> {
  const found: string[] = []
  let rest = ''
  for await (const data of socket.iterator({ destroyOnReturn: false })) {
    const parts = (rest + String(data)).split('\n')
    rest = parts.pop() ?? ''
    found.push(...parts.filter((line) => line.startsWith('/')))
    if (found.length >= count) return found
  }
  throw new Error(`It ended after ${found.length}`)
}

const answerWithPath = ({ url }: IncomingMessage, response: ServerResponse): void => {
  const body = `${url}\n`
  response.writeHead(200, { 'Content-Length': body.length }).end(body)
}

test('requests that one client sends at once hold nobody else up', async (context) => {
  const begun: string[] = []
  const open = await start(context, (request, response) => {
    begun.push(request.url ?? '')
    answerWithPath(request, response)
  })
  const [greedy, other] = [await open(), await open()]
  const paths = numbers(1_000)
  // All of it is there when the server looks.
  greedy.write(paths.map((path) => get(path)).join(''))
  other.write(get('/other'))
  const answers = lines(greedy, paths.length)
  assert.deepEqual(await lines(other, 1), ['/other'])
  assert.deepEqual(await answers, paths)
  assert.ok(begun.indexOf('/other') < 10, `${begun.indexOf('/other')} were handled before`)
})

test('each request begins when the one before is answered, and its body is there', async (context) => {
  const begun: { body: Promise<string>; answer: () => void }[] = []
  const requests = new EventEmitter()
  const open = await start(context, (request, response) => {
    const body = (async () => String(Buffer.concat(await request.toArray())))()
    begun.push({ body, answer: () => answerWithPath(request, response) })
    requests.emit('begun')
  })
  const socket = await open()
  const post = (path: string, body: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const first = once(requests, 'begun')
  socket.write(post('/a', 'one') + post('/b', 'two'))
  await first
  assert.equal(await begun[0]?.body, 'one')
  // Answered by another connection, the server has seen all that came before.
  const other = await open()
  const next = once(requests, 'begun')
  other.write(get('/c'))
  await next
  assert.equal(begun.length, 2)
  begun[1]?.answer()
  assert.deepEqual(await lines(other, 1), ['/c'])
  const last = once(requests, 'begun')
  begun[0]?.answer()
  await last
  assert.equal(await begun[2]?.body, 'two')
  begun[2]?.answer()
  assert.deepEqual(await lines(socket, 2), ['/a', '/b'])
})

test('what follows the last answer of a connection is not done', async (context) => {
  const begun: string[] = []
  const open = await start(context, (request, response) => {
    begun.push(request.url ?? '')
    answerWithPath(request, response)
  })
  const socket = await open()
  const answers = lines(socket, 1)
  // Without a host there is no more than one answer.
  socket.write(`GET /last HTTP/1.1\r\n\r\n${get('/more')}`)
  assert.deepEqual(await answers, ['/last'])
  await once(socket, 'close')
  assert.deepEqual(begun, ['/last'])
})

test('of a client that sends on, no more is read while many wait, and all of it in the end', async (context) => {
  const padding = `X: ${'x'.repeat(1_000)}\r\n`
  const bytes = get('/1000', padding).length
  let begun = 0
  let backlog = 0
  const open = await start(context, (request, response) => {
    backlog = Math.max(backlog, request.socket.bytesRead - begun * bytes)
    begun += 1
    answerWithPath(request, response)
  })
  const socket = await open()
  const paths = numbers(3_000)
  const answers = lines(socket, paths.length)
  socket.write(paths.map((path) => get(path, padding)).join(''))
  assert.deepEqual(await answers, paths)
  assert.ok(backlog < 300_000, `${backlog} bytes were read ahead`)
})
