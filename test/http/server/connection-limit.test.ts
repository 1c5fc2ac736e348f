import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { Problem, problemDocument } from '../../../src/base/problem.ts'
import { systemClock } from '../../../src/base/time/clock.ts'
import type { ConnectionLimits } from '../../../src/base/network/connections.ts'
import { refuseConnection } from '../../../src/http/answers/problem-answer.ts'
import { createHttpServer } from '../../../src/http/server/server.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

async function start(context: TestContext, limits: ConnectionLimits) {
  const refusals: string[] = []
  const upgraded: Duplex[] = []
  const server = createHttpServer({
    bind: '127.0.0.1',
    port: 0,
    clock: systemClock,
    handle: ({ url }, response) => (url === '/at-work' ? response.write('a part') : response.end('here')),
    upgrade: (_request, socket) => {
      upgraded.push(socket)
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n')
    },
    refused: (reason) => refusals.push(reason),
    limits,
  })
  context.after(async () => {
    for (const socket of upgraded) socket.destroy()
    await server.close()
  })
  await server.start()

  async function come(localAddress = '127.0.0.1'): Promise<{ socket: Socket }> {
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress })
    context.after(() => void socket.destroy())
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    return { socket }
  }

  /** A connection, and what it is answered first; empty when it is refused. */
  async function ask(
    headers = '',
    path = '/',
    localAddress = '127.0.0.1',
  ): Promise<{ socket: Socket; answer: string }> {
    const { socket } = await come(localAddress)
    const said = new Promise<string>((resolve) => {
      socket.once('data', (data) => resolve(data.toString('latin1').split('\r\n', 1)[0] ?? ''))
      socket.once('close', () => resolve(''))
    })
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`)
    return { socket, answer: await said }
  }
  return { come, ask, atWork: () => ask('', '/at-work'), refusals }
}

/** Which of them is closed first, by its place in the list. */
function firstGone(...clients: { socket: Socket }[]): Promise<number> {
  return Promise.race(clients.map(({ socket }, index) => once(socket, 'close').then(() => index)))
}

const ok = 'HTTP/1.1 200 OK'
const any = 1_000

test('only so many connections are taken at a time, and again one when one has gone', async (context) => {
  const { ask, atWork, refusals } = await start(context, { connections: 2, connectionsPerAddress: any })
  const first = await atWork()
  const second = await atWork()
  const third = await ask()
  assert.deepEqual([first.answer, second.answer, third.answer], [ok, ok, ''])
  assert.deepEqual(refusals, ['there are as many as there may be'])
  first.socket.destroy()
  // The server hears of the end a little later.
  for (let attempt = 0; (await ask()).answer !== ok; attempt += 1) assert.ok(attempt < 1_000)
})

test('when all places are taken, who has asked nothing for the longest time makes room for who comes', async (context) => {
  const { ask, atWork, refusals } = await start(context, { connections: 3, connectionsPerAddress: any })
  const working = await atWork()
  const [first, second] = [await ask(), await ask()]
  first.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(first.socket, 'data')
  const gone = once(second.socket, 'close')
  assert.equal((await ask()).answer, ok)
  await gone
  assert.deepEqual([working.socket.destroyed, first.socket.destroyed, refusals], [false, false, []])
})

test('when all places are at work, who has been sending a body for the longest time makes room', async (context) => {
  const { ask, atWork, refusals } = await start(context, { connections: 3, connectionsPerAddress: any })
  const answering = await atWork()
  const sending = 'Content-Length: 5\r\n'
  const [first, second] = [await ask(sending, '/at-work'), await ask(sending, '/at-work')]
  assert.deepEqual([first.answer, second.answer], [ok, ok])
  const gone = once(first.socket, 'close')
  assert.equal((await ask()).answer, ok)
  await gone
  assert.deepEqual([answering.socket.destroyed, second.socket.destroyed, refusals], [false, false, []])
})

test('a connection that was there before, and whose body came later, does not make room for it', async (context) => {
  const { ask, refusals } = await start(context, { connections: 2, connectionsPerAddress: any })
  const known = await ask()
  const sending = 'Content-Length: 5\r\n'
  const slow = await ask(sending, '/at-work')
  known.socket.write(`GET /at-work HTTP/1.1\r\nHost: x\r\n${sending}\r\n`)
  await once(known.socket, 'data')
  const gone = firstGone(known, slow)
  assert.equal((await ask()).answer, ok)
  assert.deepEqual([await gone, known.socket.destroyed, refusals], [1, false, []])
})

test('an address with many half bodies makes room before one that began earlier, and sends one', async (context) => {
  const { ask, refusals } = await start(context, { connections: 3, connectionsPerAddress: any })
  const sending = 'Content-Length: 5\r\n'
  const single = await ask(sending, '/at-work', '127.0.0.2')
  const [first, second] = [await ask(sending, '/at-work'), await ask(sending, '/at-work')]
  const gone = firstGone(single, first, second)
  assert.equal((await ask()).answer, ok)
  assert.deepEqual([await gone, single.socket.destroyed, refusals], [1, false, []])
})

test('where half bodies of one address have nearly all places, whoever has just come can still ask', async (context) => {
  const { come, ask, refusals } = await start(context, { connections: 20, connectionsPerAddress: any })
  const bodies: { socket: Socket }[] = []
  for (let count = 0; count < 19; count += 1) bodies.push(await ask('Content-Length: 5\r\n', '/at-work'))
  const slow = await come('127.0.0.2')
  const gone = firstGone(slow, ...bodies)
  assert.equal((await ask()).answer, ok)
  assert.deepEqual([await gone, slow.socket.destroyed, refusals], [1, false, []])
})

test('nobody makes room for an address that has as many connections as it may', async (context) => {
  const limits = { connections: 1, connectionsPerAddress: 1, isOwnAddress: () => false }
  const { ask, refusals } = await start(context, limits)
  const { socket } = await ask()
  assert.equal((await ask()).answer, '')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'data')
  assert.deepEqual(refusals, ['its address has as many as it may'])
})

test('when all places are taken, who has agreed on no encryption for the longest time makes room, too', async (context) => {
  const folder = join(import.meta.dirname, '..', '..', 'fixtures', 'tls')
  const [certificate = '', key = ''] = ['certificate.pem', 'key.pem'].map((name) =>
    readFileSync(join(folder, name), 'utf8'),
  )
  const server = createHttpServer({
    ...{ bind: '127.0.0.1', port: 0, clock: systemClock },
    tls: { identity: { certificate, key }, onRenewed: () => () => undefined },
    handle: (_request, response) => response.end('here'),
    upgrade: (_request, socket) => socket.destroy(),
    limits: { connections: 2, connectionsPerAddress: any },
  })
  context.after(() => server.close())
  await server.start()
  const [first, second] = [connect(server.port, '127.0.0.1'), connect(server.port, '127.0.0.1')]
  for (const socket of [first, second]) {
    context.after(() => void socket.destroy())
    await once(socket, 'connect')
  }
  const gone = once(first, 'close')
  const [answer] = await once(
    get({ port: server.port, host: '127.0.0.1', ca: certificate, agent: false }),
    'response',
  )
  assert.equal(answer.statusCode, 200)
  await gone
  assert.equal(second.destroyed, false)
})

test('one address takes only its share, this machine may take all', async (context) => {
  const limits = { connections: any, connectionsPerAddress: 1 }
  const strict = await start(context, { ...limits, isOwnAddress: () => false })
  const answers = [(await strict.ask()).answer, (await strict.ask()).answer]
  assert.deepEqual([answers, strict.refusals], [[ok, ''], ['its address has as many as it may']])
  const own = await start(context, limits)
  assert.deepEqual([(await own.ask()).answer, (await own.ask()).answer], [ok, ok])
})

test('a WebSocket takes no place of a request', async (context) => {
  const { ask } = await start(context, { connections: 1, connectionsPerAddress: any })
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
  assert.match((await ask(upgrade)).answer, / 101 /)
  assert.equal((await ask()).answer, ok)
})

test('who is refused and leaves the connection open is cut off, and keeps no file of the host', async (context) => {
  const clock = createManualClock()
  const refused: Duplex[] = []
  const server = createHttpServer({
    bind: '127.0.0.1',
    port: 0,
    clock,
    handle: (_request, response) => response.end('here'),
    upgrade(_request, socket) {
      refused.push(socket)
      refuseConnection(socket, problemDocument(new Problem('forbidden', 'not from there')), clock)
    },
  })
  context.after(() => server.close())
  await server.start()

  for (const [text, status] of [
    ['GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', 403],
    ['hello\r\n\r\n', 400],
  ] as const) {
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    context.after(() => void socket.destroy())
    socket.on('error', () => undefined)
    socket.write(text)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    assert.match(answer.toString('latin1'), new RegExp(`^HTTP/1.1 ${status} `))
    assert.equal(clock.waiting, 1)
    clock.advance(1_000)
  }
  assert.deepEqual(
    refused.map(({ destroyed }) => destroyed),
    [true],
  )
})
