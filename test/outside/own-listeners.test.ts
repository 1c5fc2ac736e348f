import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import type { LookupFunction } from 'node:net'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../src/base/time/clock.ts'
import { createCookieJars } from '../../src/outside/http/cookie-jars.ts'
import { createHttpClient } from '../../src/outside/http/http-client.ts'
import { createModbusGateways } from '../../src/outside/modbus/modbus-gateways.ts'
import {
  addressTimeoutWithin,
  createOwnListeners,
  isOwnListener,
  isRefusal,
  type OwnListenersSettings,
} from '../../src/outside/own-listeners.ts'
import { httpMethods, type HttpRequest } from '../../src/schema/outside/outside.ts'
import { startModbusServer } from './modbus/modbus-server.ts'
import { startWebServer, type WebServer } from './web-server.ts'
import { anywhere } from './anywhere.ts'

const never = new AbortController().signal
const closedToPlugins = /its own HTTP and MQTT are closed to plugins/

const own = { ports: [3000, 1883], addresses: () => ['192.168.1.5', 'fe80::5%eth0', '2001:db8::5'] }

test('a port of the host is its own on every address of this machine, however it is written', () => {
  const cases: [address: string, port: number, own: boolean][] = [
    ['127.0.0.1', 3000, true],
    ['127.0.0.1', 1883, true],
    ['127.9.8.7', 3000, true],
    ['0.0.0.0', 3000, true],
    ['0.1.2.3', 3000, true],
    ['::1', 3000, true],
    ['[::1]', 3000, true],
    ['::', 3000, true],
    ['::ffff:127.0.0.1', 3000, true],
    ['::ffff:7f00:1', 3000, true],
    ['::ffff:0:0', 3000, true],
    ['192.168.1.5', 3000, true],
    ['::ffff:192.168.1.5', 3000, true],
    ['fe80::5', 3000, true],
    ['fe80::5%eth1', 3000, true],
    ['2001:0db8:0::5', 3000, true],
    // Other services of this machine, and the same port elsewhere.
    ['127.0.0.1', 3001, false],
    ['192.168.1.5', 80, false],
    ['::1', 502, false],
    ['192.168.1.6', 3000, false],
    ['2001:db8::6', 3000, false],
    ['8.8.8.8', 1883, false],
    ['a name', 3000, false],
  ]
  assert.deepEqual(
    cases.map(([address, port]) => [address, port, isOwnListener(address, port, own)]),
    cases,
  )
})

test('the addresses of this machine are looked up for the ports of the host alone', () => {
  let asked = 0
  const listeners = createOwnListeners({
    ports: () => [3000],
    addresses: () => {
      asked += 1
      return ['192.168.1.5']
    },
  })
  assert.equal(listeners.refusal('192.168.1.5', 80), undefined)
  assert.equal(asked, 0)
  assert.match(listeners.refusal('192.168.1.5', 3000)?.message ?? '', closedToPlugins)
  assert.equal(asked, 1)
})

test('a name that leads elsewhere is found, also for a port of the host', async () => {
  const found = [{ address: '192.0.2.9', family: 4 }]
  const { lookup } = createOwnListeners({ ports: () => [3000], lookup: nameServer(['192.0.2.9']) })
  const answer = await new Promise((resolve) =>
    lookup('nas.example', { all: true }, (error, addresses) => resolve([error, addresses])),
  )
  assert.deepEqual(answer, [null, found])
})

test('the second address of a name has its turn after a second and a half, or half of the time that there is', () => {
  assert.deepEqual([2_999, 3_000, 60_000].map(addressTimeoutWithin), [1_500, 1_500, 1_500])
  assert.deepEqual([1_000, 3].map(addressTimeoutWithin), [500, 2])
})

/** Answers with what the table says, in order of the questions; counts them. */
function nameServer(...answers: string[][]): LookupFunction & { asked: number } {
  const lookup = (
    _name: string,
    options: { all?: boolean | undefined },
    callback: (error: NodeJS.ErrnoException | null, found: string | LookupAddress[], family?: number) => void,
  ): void => {
    const addresses = answers[counted.asked] ?? answers.at(-1) ?? []
    counted.asked += 1
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    setImmediate(() =>
      options.all === true
        ? callback(null, found)
        : callback(null, found[0]?.address ?? '', found[0]?.family),
    )
  }
  const counted = Object.assign(lookup, { asked: 0 })
  return counted
}

interface Stage {
  server: WebServer
  fetch(url: string, more?: Partial<HttpRequest>): Promise<string>
}

/** A web server that counts as the host itself, and a client for plugins. `{port}` in a URL is its port. */
async function stage(
  context: TestContext,
  settings: Partial<OwnListenersSettings> = {},
  more: { rewrite?: Record<string, string>; environment?: Record<string, string>; tls?: boolean } = {},
): Promise<Stage> {
  const server = await startWebServer((_seen, response) => response.end('the host'), more)
  context.after(() => server.close())
  const client = createHttpClient({
    jars: createCookieJars(Date.now),
    clock: systemClock,
    hostVersion: '1.2.3',
    environment: more.environment ?? {},
    rewrite: Object.fromEntries(
      Object.entries(more.rewrite ?? {}).map(([from, to]) => [
        from,
        to.replace('{port}', String(server.port)),
      ]),
    ),
    own: createOwnListeners({ ports: () => [server.port], ...settings }),
  })
  context.after(() => client.close())
  return {
    server,
    async fetch(url, request = {}) {
      const answer = await client.request(
        '@test/probe',
        {
          url: url.replace('{port}', String(server.port)),
          method: 'GET',
          headers: [],
          timeout: 30_000,
          insecure: true,
          ...request,
        },
        never,
        anywhere,
      )
      return answer.error?.message ?? Buffer.from(answer.body).toString()
    },
  }
}

test('no request gets to the host itself, by whatever address, name or method', async (context) => {
  const { server, fetch } = await stage(context)
  const hosts = ['127.0.0.1', '127.1', '2130706433', '0x7f.0.0.1', '0', '0.0.0.0', 'localhost']
  const inSix = ['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]']
  for (const host of [...hosts, ...inSix])
    assert.match(await fetch(`http://${host}:{port}/api/plugins`), closedToPlugins)
  for (const method of httpMethods)
    assert.match(await fetch('http://127.0.0.1:{port}/', { method }), closedToPlugins)
  assert.deepEqual([server.seen, server.connections], [[], 0])
})

test('with TLS the host itself is as closed', async (context) => {
  const { server, fetch } = await stage(context, {}, { tls: true })
  for (const host of ['127.0.0.1', 'localhost'])
    assert.match(await fetch(`https://${host}:{port}/`), closedToPlugins)
  assert.equal(server.connections, 0)
})

test('a name is judged by the addresses that are connected to, not by those of an earlier look', async (context) => {
  const lookup = nameServer(['127.0.0.1'], ['8.8.8.8', '::1'], ['::ffff:127.0.0.1'])
  const { server, fetch } = await stage(context, { lookup })
  for (let round = 1; round <= 3; round += 1) {
    assert.match(await fetch('http://rebinding.example:{port}/'), closedToPlugins)
    assert.equal(lookup.asked, round, 'there is one look a connection')
  }
  assert.equal(server.connections, 0)
})

test('a name whose name server is silent is looked up once at a time, whoever asks for it', async (context) => {
  const asked: string[] = []
  const answers: (() => void)[] = []
  const { fetch } = await stage(context, {
    lookup: (name, _options, callback) => {
      asked.push(name)
      answers.push(() => callback(null, [{ address: '127.0.0.1', family: 4 }]))
    },
    ports: () => [],
  })
  const timedOut = (): Promise<string> => fetch('http://silent.example:{port}/', { timeout: 50 })
  assert.deepEqual(await Promise.all([timedOut(), timedOut()]), Array(2).fill('timeout after 50 ms'))
  assert.equal(await timedOut(), 'timeout after 50 ms')
  const other = fetch('http://other.example:{port}/')
  const late = fetch('http://silent.example:{port}/')
  while (answers.length < 2) await new Promise(setImmediate)
  assert.deepEqual(asked, ['silent.example', 'other.example'])
  for (const answer of answers) answer()
  assert.deepEqual(await Promise.all([other, late]), ['the host', 'the host'])
})

test(
  'a name that nobody looks up takes no more than the time of a request, also at a port of the host',
  { timeout: 20_000 },
  async (context) => {
    const { fetch } = await stage(context, { lookup: () => undefined })
    assert.equal(await fetch('http://silent.example:{port}/', { timeout: 50 }), 'timeout after 50 ms')
  },
)

test('addresses of the network interfaces are the host itself, too', async (context) => {
  const { server, fetch } = await stage(context, {
    addresses: () => ['192.0.2.1'],
    lookup: nameServer(['192.0.2.1']),
  })
  assert.match(await fetch('http://192.0.2.1:{port}/'), closedToPlugins)
  assert.match(await fetch('http://nas.example:{port}/'), closedToPlugins)
  assert.equal(server.connections, 0)
})

test('while the addresses of this machine cannot be listed nothing gets to a port of the host, and that may pass', async (context) => {
  const proxy = await startWebServer((_seen, response) => response.end('by proxy'))
  context.after(() => proxy.close())
  const settings: Partial<OwnListenersSettings> = {
    addresses: () => {
      throw new Error('too many open files')
    },
    lookup: nameServer(['192.0.2.1']),
  }
  const undecided = /cannot be told whether .* is this host itself.*: too many open files/
  const direct = await stage(context, settings)
  const throughProxy = await stage(context, settings, { environment: { HTTP_PROXY: proxy.url } })
  for (const { fetch } of [direct, throughProxy])
    for (const host of ['192.0.2.1', 'nas.example'])
      assert.match(await fetch(`http://${host}:{port}/`), undecided)
  assert.match(await direct.fetch('http://127.0.0.1:{port}/'), closedToPlugins)
  assert.equal(await throughProxy.fetch('http://nas.example:81/'), 'by proxy')
  const { refusal, connect } = createOwnListeners({ ports: () => [3000], ...settings })
  assert.match(refusal('192.0.2.1', 3000)?.message ?? '', undecided)
  for (const host of ['192.0.2.1', 'nas.example']) {
    const [error] = (await once(connect({ host, port: 3000 }), 'error')) as [Error]
    assert.match(error.message, undecided)
    assert.equal(isRefusal(error), false)
  }
  assert.deepEqual([proxy.seen.length, direct.server.connections, throughProxy.server.connections], [1, 0, 0])
})

test('a redirect does not lead to the host itself', async (context) => {
  const { server, fetch } = await stage(context)
  const guide = await startWebServer((seen, response) => {
    response.writeHead(307, { location: seen.target.slice(1) }).end()
  })
  context.after(() => guide.close())
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    assert.match(
      await fetch(`${guide.url}/http://${host}:${server.port}/`, { method: 'POST' }),
      closedToPlugins,
    )
  }
  assert.equal(server.connections, 0)
})

test('another origin that is rewritten to the host itself is refused', async (context) => {
  const { server, fetch } = await stage(
    context,
    {},
    { rewrite: { 'https://api.example.com': 'http://127.0.0.1:{port}' } },
  )
  assert.match(await fetch('https://api.example.com/'), closedToPlugins)
  assert.equal(server.connections, 0)
})

test('a proxy is not asked for the host itself', async (context) => {
  const proxy = await startWebServer((_seen, response) => response.end('by proxy'))
  context.after(() => proxy.close())
  const { server, fetch } = await stage(
    context,
    {
      addresses: () => ['192.0.2.1'],
      lookup(name, _options, callback) {
        const isKnown = name !== 'proxy-knows.example'
        const address = name === 'nas.example' ? '192.0.2.1' : '192.0.2.9'
        callback(isKnown ? null : new Error('not found'), isKnown ? [{ address, family: 4 }] : [])
      },
    },
    { environment: { HTTP_PROXY: proxy.url } },
  )
  assert.match(await fetch('http://192.0.2.1:{port}/'), closedToPlugins)
  assert.match(await fetch('http://nas.example:{port}/'), closedToPlugins)
  // The same port elsewhere, also where only the proxy knows the name.
  for (const url of [
    'http://nas.example:81/',
    'http://other.example:{port}/',
    'http://proxy-knows.example:{port}/',
  ])
    assert.equal(await fetch(url), 'by proxy')
  assert.deepEqual([proxy.seen.length, server.connections], [3, 0])
})

test('what is refused leaves the other requests of the plugin alone', async (context) => {
  const { server, fetch } = await stage(context)
  const other = await startWebServer((_seen, response) => response.end('another service'))
  context.after(() => other.close())
  const answers = await Promise.all([
    fetch('http://localhost:{port}/'),
    fetch(`http://localhost:${other.port}/`),
    fetch('http://127.0.0.1:{port}/'),
    fetch(other.url),
  ])
  assert.deepEqual(
    answers.map((answer) => closedToPlugins.test(answer) || answer),
    [true, 'another service', true, 'another service'],
  )
  assert.equal(server.connections, 0)
})

test('Modbus does not get to the host itself either, and to others as before', async (context) => {
  const host = await startModbusServer(() => undefined)
  const gateway = await startModbusServer((_seen, body) => Buffer.from([body[0] ?? 0, 2, 0, 7]))
  const gateways = createModbusGateways({
    clock: systemClock,
    own: createOwnListeners({ ports: () => [host.port] }),
  })
  context.after(async () => {
    await gateways.close()
    await host.close()
    await gateway.close()
  })
  const read = (name: string, port: number) =>
    gateways.request(
      '@test/probe',
      { host: name, port, unit: 1, fc: 3, address: 0, quantity: 1, timeout: 30_000 },
      never,
    )
  for (const name of ['127.0.0.1', '127.1', 'localhost', '::1', '::ffff:127.0.0.1', '0.0.0.0']) {
    const answer = await read(name, host.port)
    assert.match(answer.ok ? 'it got there' : answer.message, closedToPlugins)
  }
  assert.equal(host.connections.length, 0)
  assert.deepEqual(await read('localhost', gateway.port), { ok: true, values: [7] })
})
