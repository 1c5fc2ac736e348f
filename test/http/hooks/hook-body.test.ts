import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { createHookBodies, smallBody } from '../../../src/http/hooks/hook-body.ts'
import { createHookPlaces, largeBodies } from '../../../src/http/hooks/hook-places.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { until } from '../../helpers/until.ts'

const megabyte = 1024 * 1024
/** Bytes that Node reads of a connection before it hears that nobody wants them. */
const readAhead = 128 * 1024

test('of more large bodies than have places no more is kept than of small ones, until a place is free', async (t) => {
  const clock = createManualClock()
  const bodies = createHookBodies(clock, createHookPlaces(clock))
  const requests: IncomingMessage[] = []
  const leaves: (() => void)[] = []
  const server = createServer((request) => {
    requests.push(request)
    bodies.read('@a/b', request, new AbortController().signal).then(
      ({ leave }) => leaves.push(leave),
      () => undefined,
    )
  })
  const port = await listen(server)
  const sockets = Array.from({ length: 2 * largeBodies }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${megabyte}\r\n\r\n`)
    socket.write(Buffer.alloc(megabyte))
    return socket
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await until('the places are taken', () =>
    Promise.resolve(requests.length === sockets.length && leaves.length === largeBodies),
  )
  const kept = requests.filter(({ readableEnded }) => !readableEnded)
  assert.equal(kept.length, largeBodies)
  for (const { socket } of kept) assert.ok(socket.bytesRead <= smallBody + readAhead, `${socket.bytesRead}`)
  for (const leave of leaves.splice(0)) leave()
  await until('the others have come', () => Promise.resolve(leaves.length === largeBodies))
  assert.equal(clock.waiting, 0)
})

test('whoever has been sending the longest to a plugin gives way, and nobody who has sent it all', async (t) => {
  const clock = createManualClock()
  const bodies = createHookBodies(clock, createHookPlaces(clock))
  const outcomes: string[] = []
  let begun = 0
  const server = createServer((request) => {
    const [, plugin = '', name = ''] = (request.url ?? '').split('/')
    begun += 1
    bodies.read(plugin, request, new AbortController().signal).then(
      () => outcomes.push(`${name} is read`),
      (error: unknown) => outcomes.push(`${name}: ${(error as { code: string }).code}`),
    )
  })
  const port = await listen(server)
  const send = async (path: string, body: string): Promise<void> => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    t.after(() => socket.destroy())
    const before = begun
    socket.write(`POST /${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n${body}`)
    await until('the request', () => Promise.resolve(begun > before))
  }
  t.after(() => server.close())
  for (const path of ['other/zero', 'mine/first', 'mine/second']) await send(path, 'abc')
  await send('mine/whole', 'abcd')
  await until('the whole one', () => Promise.resolve(outcomes.length === 1))
  const turnedAway = ['mine', 'mine', 'mine', undefined, undefined].map((plugin) => bodies.turnAway(plugin))
  await until('the others', () => Promise.resolve(outcomes.length === 4))
  assert.deepEqual(turnedAway, [true, true, false, true, false])
  assert.deepEqual(outcomes, [
    'whole is read',
    'first: hook_unavailable',
    'second: hook_unavailable',
    'zero: hook_unavailable',
  ])
})

test('the room that bodies take is given back, whether they come to their end or not', async (t) => {
  const clock = createManualClock()
  const bodies = createHookBodies(clock, createHookPlaces(clock))
  const server = createServer((request, response) => {
    bodies.read('@a/b', request, new AbortController().signal).then(
      ({ bytes, leave }) => {
        leave()
        response.end(String(bytes.length))
      },
      (error: unknown) => {
        response.statusCode = 400
        response.end((error as { code: string }).code)
      },
    )
  })
  const port = await listen(server)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  /** Without a length it is read until it is too much. */
  const send = async (bytes: number, headers: Record<string, string>): Promise<string> => {
    const sent = request({ port, host: '127.0.0.1', method: 'POST', headers }).on('error', () => undefined)
    const answer = once(sent, 'response')
    sent.end(Buffer.alloc(bytes))
    const [response] = (await answer) as [IncomingMessage]
    return String(Buffer.concat(await response.toArray()))
  }
  // More than there is room for at one time.
  for (let count = 0; count < 35; count += 1) {
    assert.equal(await send(megabyte, {}), String(megabyte))
    assert.equal(await send(megabyte + 1, { 'Transfer-Encoding': 'chunked' }), 'body_too_large')
  }
})
