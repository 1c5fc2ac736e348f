import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { createCookieJars } from '../../src/outside/http/cookie-jars.ts'
import { createDeliveryWatchdog } from '../../src/outside/connections/delivery-watchdog.ts'
import type { LinkContext } from '../../src/outside/connections/link.ts'
import { openTcp } from '../../src/outside/connections/tcp-link.ts'
import { createModbusGateways } from '../../src/outside/modbus/modbus-gateways.ts'
import { withChecksum } from '../../src/outside/modbus/modbus-rtu-link.ts'
import type { Environment } from '../../src/outside/http/http-agents.ts'
import { createHttpClient, type HttpClient } from '../../src/outside/http/http-client.ts'
import { createOwnListeners, type OwnListeners } from '../../src/outside/own-listeners.ts'
import type { HttpRequest } from '../../src/schema/outside/outside.ts'
import { anywhere } from './anywhere.ts'

/** Answers at 127.0.0.1 alone, and takes two connections while it stands still. */
const program = `
  const server = require('node:http').createServer((_request, response) => response.end('slow'))
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port))
`

/** A device at 127.0.0.1 that takes no connection, until `wake`. */
async function sleepingDevice(t: TestContext) {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(line.toString())
  child.kill('SIGSTOP')
  for (let taken = 0; taken < 2; taken += 1) {
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.on('error', () => undefined)
    await once(socket, 'connect')
  }
  return { port, wake: () => child.kill('SIGCONT') }
}

/** A name with the addresses 127.0.0.1 and 127.0.0.2. */
const twoAddresses = (asked: () => void): OwnListeners =>
  createOwnListeners({
    ports: () => [],
    lookup: (_name, _options, callback) => {
      callback(
        null,
        ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 })),
      )
      // The connection is under way by then.
      setImmediate(asked)
    },
  })

function clientOf(t: TestContext, own: OwnListeners, environment: Environment = {}): HttpClient {
  const client = createHttpClient({
    ...{ jars: createCookieJars(Date.now), clock: systemClock, hostVersion: '1.2.3' },
    ...{ environment, rewrite: {}, own },
  })
  t.after(() => client.close())
  return client
}

const requestOf = (url: string, timeout: number): HttpRequest => ({
  ...{ url, timeout, method: 'GET', headers: [], insecure: false },
})

/** Nobody is at the second address, and the first takes a second to answer: as long as the packet takes that was lost. */
async function slowDevice(t: TestContext) {
  const { port, wake } = await sleepingDevice(t)
  return { port, own: twoAddresses(wake) }
}

test('a connection to a name gets to its first address, however slow that is, when nobody is at the second', async (t) => {
  const { own, port } = await slowDevice(t)
  const socket = own.connect({ host: 'slow.example', port })
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  assert.equal(socket.remoteAddress, '127.0.0.1')
})

test('a request to a name gets to its first address, however slow that is, when nobody is at the second', async (t) => {
  const { own, port } = await slowDevice(t)
  const client = clientOf(t, own)
  const request = requestOf(`http://slow.example:${port}/`, 30_000)
  const answer = await client.request('@test/probe', request, new AbortController().signal, anywhere)
  assert.deepEqual([answer.status, answer.error], [200, undefined])
})

test('a request to a device that takes no connection ends when its own time is over, or nobody waits any more, with its connection', async (t) => {
  const { port } = await sleepingDevice(t)
  const sockets: Socket[] = []
  const own = createOwnListeners({
    ports: () => [],
    lookup: (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
  })
  const client = clientOf(t, own)
  subscribe('net.client.socket', (message) => sockets.push((message as { socket: Socket }).socket))
  const begun = performance.now()
  const late = await client.request(
    '@test/probe',
    requestOf(`http://sleeping.example:${port}/`, 50),
    new AbortController().signal,
    anywhere,
  )
  assert.equal(late.error?.message, 'timeout after 50 ms')
  const waiting = client.request(
    '@test/probe',
    requestOf(`http://sleeping.example:${port}/`, 30_000),
    new AbortController().signal,
    anywhere,
  )
  while (sockets.length < 2) await new Promise(setImmediate)
  await client.close()
  assert.equal((await waiting).error?.message, 'the request was cancelled')
  assert.deepEqual(
    sockets.map(({ destroyed }) => destroyed),
    [true, true],
  )
  // Left alone, each connection is tried for ten seconds.
  assert.ok(performance.now() - begun < 8_000)
})

test('a request through a proxy that takes no connection ends when its own time is over, or nobody waits any more', async (t) => {
  const { port } = await sleepingDevice(t)
  const own = createOwnListeners({ ports: () => [] })
  const proxy = `http://127.0.0.1:${port}`
  const client = clientOf(t, own, { HTTP_PROXY: proxy, HTTPS_PROXY: proxy })
  const ask = (url: string, timeout: number) =>
    client.request('@test/probe', requestOf(url, timeout), new AbortController().signal, anywhere)
  const begun = performance.now()
  for (const url of ['http://far.example/', 'https://far.example/']) {
    assert.equal((await ask(url, 50)).error?.message, 'timeout after 50 ms')
  }
  const sockets: Socket[] = []
  subscribe('net.client.socket', (message) => sockets.push((message as { socket: Socket }).socket))
  const waiting = [ask('http://far.example/', 30_000), ask('https://far.example/', 30_000)]
  while (sockets.length < 2) await new Promise(setImmediate)
  await client.close()
  const messages = (await Promise.all(waiting)).map(({ error }) => error?.message)
  assert.deepEqual(messages, ['the request was cancelled', 'the request was cancelled'])
  // Left alone, each connection is tried for ten seconds.
  assert.ok(performance.now() - begun < 8_000)
})

test('a connection that has little time gets to the second address of a name when nobody answers at the first', async (t) => {
  const { port } = await sleepingDevice(t)
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    // Register 0 of unit 1 has the value 7. Telegrams of Modbus RTU have no header, and are shorter.
    const said = [1, 3, 2, 0, 7]
    socket.on('data', (telegram) =>
      socket.write(
        telegram.length === 8
          ? withChecksum(Buffer.from(said))
          : Buffer.from([...telegram.subarray(0, 4), 0, 5, ...said]),
      ),
    )
  })
  await once(server.listen(port, '127.0.0.2'), 'listening')
  t.after(() => server.close())
  const own = twoAddresses(() => undefined)
  const reason = await new Promise<string | null>((resolve) => {
    const link = openTcp(
      { kind: 'tcp', host: 'slow.example', port, timeout: 1_500 },
      {
        opened: () => resolve('opened'),
        ended: (end) => resolve(end.reason),
        ...{ message: () => undefined, silence: () => undefined, warn: () => undefined },
      },
      {
        own,
        clock: systemClock,
        watchDelivery: createDeliveryWatchdog({ clock: systemClock }),
      } as LinkContext,
    )
    t.after(() => link.destroy())
  })
  assert.equal(reason, 'opened')
  const gateways = createModbusGateways({ clock: systemClock, own })
  t.after(() => gateways.close())
  for (const way of [{ timeout: 1_500 }, { rtu: true as const, timeout: 700 }]) {
    const answer = await gateways.request(
      '@test/probe',
      { host: 'slow.example', port, unit: 1, fc: 3, address: 0, quantity: 1, ...way },
      new AbortController().signal,
    )
    assert.deepEqual(answer, { ok: true, values: [7] })
  }
})
