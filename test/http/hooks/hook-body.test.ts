import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, IncomingMessage, request } from 'node:http'
import { connect, Socket } from 'node:net'
import { test } from 'node:test'
import { messageOf, Problem } from '../../../src/base/problem.ts'
import { createHookBodies, smallBodyBytes } from '../../../src/http/hooks/hook-body.ts'
import { createHookAdmission, largeBodiesLimit } from '../../../src/http/hooks/hook-admission.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { until } from '../../helpers/until.ts'

const megabyte = 1024 * 1024
/** Bytes that Node reads of a connection before it hears that nobody wants them. */
const readAhead = 128 * 1024

test('of more large bodies than have places no more is kept than of small ones, until a place is free', async (t) => {
  const clock = createManualClock()
  const bodies = createHookBodies(clock, createHookAdmission(clock))
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
  const sockets = Array.from({ length: 2 * largeBodiesLimit }, () => {
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
    Promise.resolve(requests.length === sockets.length && leaves.length === largeBodiesLimit),
  )
  const kept = requests.filter(({ readableEnded }) => !readableEnded)
  assert.equal(kept.length, largeBodiesLimit)
  for (const { socket } of kept)
    assert.ok(socket.bytesRead <= smallBodyBytes + readAhead, `${socket.bytesRead}`)
  for (const leave of leaves.splice(0)) leave()
  await until('the others have come', () => Promise.resolve(leaves.length === largeBodiesLimit))
  assert.equal(clock.waiting, 0)
})

test('whoever has been sending the longest to a plugin gives way, and nobody who has sent it all', async (t) => {
  const clock = createManualClock()
  const bodies = createHookBodies(clock, createHookAdmission(clock))
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
  const turnedAway = ['mine', 'mine', 'mine', undefined, undefined].map((plugin) =>
    bodies.refuseSlowest(plugin),
  )
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
  const bodies = createHookBodies(clock, createHookAdmission(clock))
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

/** A request that has sent this much of a body, and may go on. */
function requestWith(bytes: number): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  request.push(Buffer.alloc(bytes))
  return request
}

/** What becomes of it, by request. */
function readBy(bodies: ReturnType<typeof createHookBodies>) {
  const outcomes = new Map<IncomingMessage, string>()
  const leaves: (() => void)[] = []
  return {
    leaves,
    read(plugin: string, request: IncomingMessage): IncomingMessage {
      bodies.read(plugin, request, new AbortController().signal).then(
        ({ bytes, leave }) => {
          outcomes.set(request, `${bytes.length} bytes`)
          leaves.push(leave)
        },
        (error: unknown) => outcomes.set(request, error instanceof Problem ? error.code : messageOf(error)),
      )
      return request
    },
    outcome: (request: IncomingMessage): Promise<string> =>
      until('an outcome', () => Promise.resolve(outcomes.get(request))),
  }
}

test('over all plugins no more is kept of what is being read than there is room for', async () => {
  const clock = createManualClock()
  const { read, outcome } = readBy(createHookBodies(clock, createHookAdmission(clock)))
  const [first, ...others] = Array.from({ length: 64 }, (_, number) =>
    read(`@a/b${number}`, requestWith(megabyte)),
  )
  await until('all to be read', () =>
    Promise.resolve([first, ...others].every((request) => request?.readableLength === 0)),
  )
  assert.equal(await outcome(read('@a/c', requestWith(1))), 'hook_unavailable')
  first?.push(null)
  assert.equal(await outcome(first ?? requestWith(0)), `${megabyte} bytes`)
  const next = read('@a/c', requestWith(1))
  next.push(null)
  assert.equal(await outcome(next), '1 bytes')
})

test('whoever leaves in the midst of a body, or while it waits to be read on, takes no place of others', async () => {
  const clock = createManualClock()
  const { read, outcome, leaves } = readBy(createHookBodies(clock, createHookAdmission(clock)))
  const large = Array.from({ length: largeBodiesLimit + 2 }, () =>
    read('@a/b', requestWith(smallBodyBytes + 1)),
  )
  const [left, waiting, ...reading] = large.reverse()
  const gone = reading.shift()
  assert.ok(left !== undefined && waiting !== undefined && gone !== undefined)
  for (const request of [waiting, ...reading]) request.push(null)
  await until('all that have a place', () => Promise.resolve(leaves.length === reading.length))
  left.destroy()
  gone.destroy()
  assert.equal(await outcome(gone), 'body_invalid')
  assert.equal(await outcome(waiting), `${smallBodyBytes + 1} bytes`)
  for (const leave of leaves) leave()
  assert.equal(await outcome(left), 'body_invalid')
  assert.equal(clock.waiting, 0)
})

test('a body that has come while the host was paused is read, and one that does not come after that is given up', async () => {
  const clock = createManualClock()
  const { read, outcome } = readBy(createHookBodies(clock, createHookAdmission(clock)))
  const [whole, part] = [read('@a/b', requestWith(1)), read('@a/b', requestWith(1))]
  clock.pause(60_000)
  clock.advance(0)
  whole.push(null)
  assert.equal(await outcome(whole), '1 bytes')
  clock.advance(60_000)
  assert.equal(await outcome(part), 'body_invalid')
})
