import assert from 'node:assert/strict'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { createServer, type ServerResponse } from 'node:http'
import { test } from 'node:test'
import { brotliCompressSync, constants, crc32, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { createCookieJars } from '../../../src/outside/http/cookie-jars.ts'
import { bodyLimits } from '../../../src/schema/outside/outside.ts'
import {
  createHttpClient,
  type HttpClient,
  type HttpClientSettings,
} from '../../../src/outside/http/http-client.ts'
import { keptConnectionsLimit } from '../../../src/outside/http/kept-connections.ts'
import { createOwnListeners } from '../../../src/outside/own-listeners.ts'
import type { HttpAnswer, HttpRequest } from '../../../src/schema/outside/outside.ts'
import { listen } from '../../helpers/listen.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { until } from '../../helpers/until.ts'
import { type Respond, startWebServer, type WebServer } from '../web-server.ts'
import { anywhere } from '../anywhere.ts'

const never = new AbortController().signal

function requestOf(url: string, more: Partial<HttpRequest> = {}): HttpRequest {
  return { url, method: 'GET', headers: [], timeout: 30_000, insecure: false, ...more }
}

function clientOf(more: Partial<HttpClientSettings> = {}): HttpClient {
  const own = createOwnListeners({ ports: () => [] })
  return createHttpClient({
    jars: createCookieJars(Date.now),
    ...{ clock: systemClock, hostVersion: '1.2.3', environment: {}, rewrite: {}, own },
    ...more,
  })
}

interface Stage {
  server: WebServer
  client: HttpClient
  ask(target: string, more?: Partial<HttpRequest>): Promise<HttpAnswer>
}

async function stage(
  respond: Respond,
  use: (stage: Stage) => Promise<void>,
  more: Partial<HttpClientSettings> = {},
): Promise<void> {
  const server = await startWebServer(respond)
  const client = clientOf(more)
  try {
    const ask = (target: string, request: Partial<HttpRequest> = {}) =>
      client.request('@test/probe', requestOf(server.url + target, request), never, anywhere)
    await use({ server, client, ask })
  } finally {
    await client.close()
    await server.close()
  }
}

const text = (answer: HttpAnswer): string => Buffer.from(answer.body).toString()
const ok: Respond = (_seen, response) => response.end('fine')

test('the address goes over the wire as it was written', async () => {
  await stage(ok, async ({ server, ask }) => {
    const targets = [
      '/a(b),c;d/%20/%7E/..//x?q=(1,2)&r=%2f&s=a+b|"<>{}^`\\',
      '/',
      '?only=query',
      '',
      '/with#fragment',
      '/Zürich and more',
    ]
    for (const target of targets) await ask(target)
    assert.deepEqual(
      server.seen.map(({ target }) => target),
      [
        '/a(b),c;d/%20/%7E/..//x?q=(1,2)&r=%2f&s=a+b|"<>{}^`\\',
        '/',
        '/?only=query',
        '/',
        '/with',
        '/Z%C3%BCrich%20and%20more',
      ],
    )
  })
})

test('a header that HTTP does not allow is named, and nothing is sent', async () => {
  await stage(ok, async ({ server, ask }) => {
    const told = []
    for (const [name, value] of [
      ['X Key', 'v'],
      ['', 'v'],
      ['X-Key', 'one\r\nHost: two'],
      ['X-Key', '5 €'],
    ] as const)
      told.push((await ask('/', { headers: [[name, value]] })).error)
    const wrong = (name: string, part: string) => ({
      code: 'network',
      message: `the header "${name}" has a ${part} with characters that HTTP does not allow there`,
    })
    assert.deepEqual(told, [
      wrong('X Key', 'name'),
      wrong('', 'name'),
      wrong('X-Key', 'value'),
      wrong('X-Key', 'value'),
    ])
    assert.deepEqual(server.seen, [])
    assert.equal((await ask('/', { headers: [['X-Key', 'ä\tb']] })).status, 200)
  })
})

test('every method is sent, with its body and without', async () => {
  await stage(ok, async ({ server, ask }) => {
    const body = Buffer.from('payload')
    for (const method of ['GET', 'DELETE', 'HEAD'] as const) await ask('/', { method })
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) await ask('/', { method, body })
    await ask('/', { method: 'POST' })
    assert.deepEqual(
      server.seen.map(({ method, body: sent, headers }) => [method, sent, headers['content-length']]),
      [
        ['GET', '', undefined],
        ['DELETE', '', undefined],
        ['HEAD', '', undefined],
        ['POST', 'payload', '7'],
        ['PUT', 'payload', '7'],
        ['PATCH', 'payload', '7'],
        ['DELETE', 'payload', '7'],
        ['POST', '', '0'],
      ],
    )
  })
})

test('headers are generated, and an explicit one wins', async () => {
  await stage(ok, async ({ server, ask }) => {
    await ask('/')
    await ask('/', {
      headers: [
        ['User-Agent', 'mine'],
        ['ACCEPT', 'text/plain'],
        ['Accept-Encoding', 'identity'],
        ['Host', 'elsewhere'],
        ['X-Many', '1'],
        ['X-Many', '2'],
        ['Content-Length', '99'],
        ['Connection', 'upgrade'],
        ['Transfer-Encoding', 'chunked'],
      ],
    })
    const [plain, explicit] = server.seen.map(({ headers }) => headers)
    assert.equal(plain?.['user-agent'], 'lupine/1.2.3')
    assert.equal(plain?.accept, '*/*')
    assert.equal(plain?.['accept-encoding'], 'gzip, deflate, br')
    assert.equal(plain?.host, `127.0.0.1:${server.port}`)
    assert.deepEqual(
      { ...explicit, connection: undefined },
      {
        'user-agent': 'mine',
        accept: 'text/plain',
        'accept-encoding': 'identity',
        host: `127.0.0.1:${server.port}`,
        'x-many': '1, 2',
        connection: undefined,
      },
    )
  })
})

test('the server is asked as the one that the address names, and closes when it is told to', async () => {
  await stage(ok, async ({ server, ask }) => {
    const names = [
      'hOsT',
      'Content-length',
      'TE',
      'Trailer',
      'Upgrade',
      'Expect',
      'Keep-Alive',
      'Proxy-Authorization',
    ]
    await ask('/', { headers: names.map((name) => [name, 'other.example']) })
    await ask('/', { headers: [['Connection', 'Close']] })
    await ask('/', { headers: [['Connection', 'close, host']] })
    const own = `127.0.0.1:${server.port}`
    assert.deepEqual(
      server.seen.map(({ headers }) => [headers.host, headers.connection, Object.keys(headers).sort()]),
      ['keep-alive', 'close', 'keep-alive'].map((connection) => [
        own,
        connection,
        ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'],
      ]),
    )
    assert.equal(server.connections, 2, 'the second request closed the first connection')
  })
})

test('a header that cannot be sent is an error of the request, and injects nothing', async () => {
  await stage(ok, async ({ server, ask }) => {
    const answer = await ask('/', { headers: [['X-Bad', 'a\r\nX-Injected: 1']] })
    assert.equal(answer.error?.code, 'network')
    assert.match(answer.error.message, /header/)
    assert.equal(server.seen.length, 0)
  })
})

test('user and password of the address become Basic authentication', async () => {
  await stage(ok, async ({ server, client, ask }) => {
    const get = (credentials: string, headers: [string, string][] = []) =>
      client.request(
        '@test/probe',
        requestOf(`http://${credentials}@127.0.0.1:${server.port}/`, { headers }),
        never,
        anywhere,
      )
    await get('admin:secret')
    await get('a%40b:p%3Aa%2Fss')
    await get('half:100%')
    await get('who@home:x@y')
    await get('only')
    await get('admin:secret', [['authorization', 'Bearer explicit']])
    await ask('/')
    const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`
    assert.deepEqual(
      server.seen.map(({ headers }) => headers.authorization),
      [
        basic('admin:secret'),
        basic('a@b:p:a/ss'),
        basic('half:100%'),
        basic('who@home:x@y'),
        basic('only:'),
        'Bearer explicit',
        undefined,
      ],
    )
    assert.ok(server.seen.every(({ headers }) => headers.host === `127.0.0.1:${server.port}`))
  })
})

test('what is no http address is an error of the request', async () => {
  const client = clientOf()
  try {
    for (const url of [
      '',
      'example.com',
      '/path',
      'ftp://x/',
      'file:///etc/passwd',
      'http://',
      'http://a b/',
    ]) {
      const { status, error } = await client.request('@test/probe', requestOf(url), never, anywhere)
      assert.deepEqual(
        [url, status, error],
        [url, 0, { code: 'network', message: 'the url must be absolute and start with http:// or https://' }],
      )
    }
  } finally {
    await client.close()
  }
})

test('encoded bodies are decoded, also without their end', async () => {
  const plain = Buffer.from('{"answer":42}'.repeat(50))
  const bodies: Record<string, [encoding: string, bytes: Buffer]> = {
    '/gzip': ['gzip', gzipSync(plain)],
    '/x-gzip': ['X-GZip', gzipSync(plain)],
    '/deflate': ['deflate', deflateSync(plain)],
    '/raw': ['deflate', deflateRawSync(plain)],
    '/br': ['br', brotliCompressSync(plain)],
    '/twice': ['deflate, gzip', gzipSync(deflateSync(plain))],
    '/cut': ['gzip', gzipSync(plain).subarray(0, -8)],
    '/cut-within': ['gzip', gzipSync(plain).subarray(0, -1)],
    '/cut-named': ['gzip', named(gzipSync(plain)).subarray(0, -8)],
    '/cut-deflate': ['deflate', deflateSync(plain).subarray(0, -4)],
    ...Object.fromEntries(
      [gzipSync, deflateSync, deflateRawSync].map((compress, index) => [
        `/flushed-${index}`,
        [index === 0 ? 'gzip' : 'deflate', compress(plain, { finishFlush: constants.Z_SYNC_FLUSH })],
      ]),
    ),
    '/identity': ['identity', plain],
    '/unknown': ['zip', plain],
  }
  const respond: Respond = ({ target }, response) => {
    const [encoding, bytes] = bodies[target] ?? ['', Buffer.alloc(0)]
    response.writeHead(200, { 'Content-Encoding': encoding })
    response.end(bytes)
  }
  await stage(respond, async ({ ask }) => {
    for (const target of Object.keys(bodies)) assert.equal(text(await ask(target)), plain.toString(), target)
    assert.equal((await ask('/gzip', { method: 'HEAD' })).error, undefined)
  })
})

/** With the name of a file, an extra field and a checksum in its header (RFC 1952). */
function named(gzip: Buffer): Buffer {
  const header = Buffer.from(gzip.subarray(0, 10))
  header[3] = 0x04 | 0x08 | 0x10 | 0x02
  const more = Buffer.from('\x03\x00abcname\0comment\0')
  const checksum = Buffer.alloc(2)
  checksum.writeUInt16LE(crc32(Buffer.concat([header, more])) & 0xffff)
  return Buffer.concat([header, more, checksum, gzip.subarray(10)])
}

test('half of an encoded body is none, however its length was told', async () => {
  const plain = Buffer.from(Array.from({ length: 2_000 }, (_, index) => `line ${index * 7919}`).join('\n'))
  const gzip = gzipSync(plain)
  const bodies: [encoding: string, bytes: Buffer][] = [
    ['gzip', gzip.subarray(0, gzip.length / 2)],
    ['gzip', gzip.subarray(0, -9)],
    ['gzip', gzip.subarray(0, 5)],
    ['gzip', Buffer.concat([gzip, gzip.subarray(0, gzip.length / 2)])],
    ['deflate', deflateSync(plain).subarray(0, 3_000)],
    ['deflate', deflateRawSync(plain).subarray(0, 3_000)],
    ['br', brotliCompressSync(plain).subarray(0, 3_000)],
    ['gzip, gzip', gzipSync(gzip.subarray(0, gzip.length / 2))],
  ]
  const respond: Respond = ({ target }, response) => {
    const [, index = '', length] = target.split('/')
    const [encoding, bytes] = bodies[Number(index)] ?? ['', Buffer.alloc(0)]
    response.writeHead(200, {
      'Content-Encoding': encoding,
      ...(length === undefined ? { Connection: 'close' } : { 'Content-Length': bytes.length }),
    })
    response.end(bytes)
  }
  await stage(respond, async ({ ask }) => {
    for (const [index, [encoding]] of bodies.entries())
      for (const target of [`/${index}`, `/${index}/length`]) {
        const answer = await ask(target)
        const message = `the end of the body is missing (${encoding.split(',')[0]})`
        assert.deepEqual([answer.error, answer.body.length], [{ code: 'network', message }, 0], target)
      }
  })
})

test('an answer without a length is no answer when its connection breaks off instead of ending', async () => {
  for (const head of [
    'HTTP/1.1 200 OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n',
    'HTTP/1.0 200 OK\r\n\r\n',
  ]) {
    const sockets: Socket[] = []
    const server = createTcpServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => undefined)
      socket.once('data', () => socket.write(`${head}half`))
    })
    const port = await listen(server)
    const client = clientOf()
    try {
      const url = `http://127.0.0.1:${port}/`
      const { body } = await client.open('@test/probe', requestOf(url), never, () => undefined)
      const chunks = body[Symbol.asyncIterator]()
      assert.equal(String((await chunks.next()).value), 'half')
      sockets.at(-1)?.resetAndDestroy()
      await assert.rejects(chunks.next(), { code: 'ECONNRESET' })
    } finally {
      await client.close()
      server.close()
    }
  }
})

test('a body that is not what its encoding says is an error', async () => {
  const respond: Respond = (_seen, response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip' })
    response.end('not gzip')
  }
  await stage(respond, async ({ ask }) => {
    const answer = await ask('/')
    assert.match(answer.error?.message ?? '', /not the gzip/)
    assert.equal(answer.body.byteLength, 0)
  })
})

test('a body may be encoded five times and not once more', async () => {
  const packed: Respond = ({ target }, response) => {
    const times = Number(target.slice(1))
    const layers = Array.from({ length: times }, () => 'gzip')
    response.setHeader('Content-Encoding', layers.join(', '))
    response.end(layers.reduce((bytes) => gzipSync(bytes), Buffer.from('fine')))
  }
  await stage(packed, async ({ ask }) => {
    assert.equal(text(await ask('/5')), 'fine')
    assert.deepEqual((await ask('/6')).error, {
      code: 'network',
      message: 'the body is encoded more than 5 times',
    })
  })
})

test('a body may have 5 MiB and not a byte more, packed or not', async () => {
  const sizes: Record<string, () => [number, Buffer, string]> = {
    '/fits': () => [200, Buffer.alloc(bodyLimits.default), ''],
    '/larger': () => [200, Buffer.alloc(bodyLimits.default + 1), ''],
    '/bomb': () => [200, gzipSync(Buffer.alloc(bodyLimits.default + 1)), 'gzip'],
  }
  const respond: Respond = ({ target }, response) => {
    const [status, bytes, encoding] = sizes[target]?.() ?? [404, Buffer.alloc(0), '']
    response.writeHead(status, encoding === '' ? {} : { 'Content-Encoding': encoding })
    response.end(bytes)
  }
  await stage(respond, async ({ ask }) => {
    assert.equal((await ask('/fits')).body.byteLength, bodyLimits.default)
    for (const target of ['/larger', '/bomb']) {
      assert.deepEqual((await ask(target)).error, {
        code: 'too_large',
        message: 'the body is larger than 5 MiB',
      })
    }
    assert.equal((await ask('/fits', { maxBody: 0 })).error?.message, 'the body is larger than 0 bytes')
  })
})

test('the limit holds for the whole request, and ends it', async () => {
  const clock = createManualClock()
  const slow: Respond = ({ target }, response, request) => {
    if (target === '/drip') response.write('a little')
    request.socket.on('close', () => closed())
    arrived()
  }
  let arrived = (): void => undefined
  let closed = (): void => undefined
  await stage(
    slow,
    async ({ ask }) => {
      for (const target of ['/silent', '/drip']) {
        const there = new Promise<void>((resolve) => (arrived = resolve))
        const gone = new Promise<void>((resolve) => (closed = resolve))
        const answer = ask(target, { timeout: 1_500 })
        await there
        clock.advance(1_499)
        clock.advance(1)
        const { status, elapsed, error } = await answer
        assert.deepEqual(
          { status, elapsed, error },
          { status: 0, elapsed: 1_500, error: { code: 'timeout', message: 'timeout after 1500 ms' } },
        )
        await gone
      }
      assert.equal(clock.waiting, 0)
    },
    { clock },
  )
})

test('an answer that has come while the host was paused is heard', async () => {
  const clock = createManualClock()
  const asked: Respond = (_seen, response) => {
    clock.pause(60_000)
    clock.advance(0)
    response.end('fine')
  }
  await stage(
    asked,
    async ({ ask }) => {
      assert.equal(text(await ask('/', { timeout: 1_500 })), 'fine')
      assert.equal(clock.waiting, 0)
    },
    { clock },
  )
})

test('an answer may have 16 KiB of headers and not many more', async () => {
  const wordy: Respond = ({ target }, response) => {
    response.setHeader('X-Words', 'x'.repeat(Number(target.slice(1))))
    response.end('fine')
  }
  await stage(wordy, async ({ ask }) => {
    assert.equal(text(await ask('/16000')), 'fine')
    const { status, error } = await ask('/16384')
    assert.equal(status, 0)
    assert.match(error?.message ?? '', /^the headers of what 127\.0\.0\.1:\d+ answers have more than 16 KiB /)
  })
})

test('a server that is not there and a broken line are told apart', async () => {
  const gone = await startWebServer(ok)
  await gone.close()
  const rude = createTcpServer((socket) => socket.once('data', () => socket.destroy()))
  const port = await listen(rude)
  const client = clientOf()
  try {
    const failureOf = async (url: string) =>
      (await client.request('@test/probe', requestOf(url), never, anywhere)).error
    assert.deepEqual(await failureOf(gone.url), {
      code: 'network',
      message: `connection refused by 127.0.0.1:${gone.port} (ECONNREFUSED)`,
    })
    const broken = await failureOf(`http://127.0.0.1:${port}/`)
    assert.equal(broken?.code, 'network')
    assert.match(broken.message, /closed the connection before the answer was complete/)
  } finally {
    await client.close()
    rude.close()
  }
})

test('redirects are followed, with the method and body that their status asks for', async () => {
  const respond: Respond = ({ target }, response) => {
    const [, status] = /^\/(30\d)/.exec(target) ?? []
    if (status === undefined) response.end('arrived')
    else response.writeHead(Number(status), { Location: '/end' }).end('moved')
  }
  await stage(respond, async ({ server, ask }) => {
    const headers: [string, string][] = [
      ['Content-Type', 'text/plain'],
      ['X-Kept', 'yes'],
    ]
    for (const status of [301, 302, 303, 307, 308]) {
      for (const method of ['POST', 'PUT', 'GET', 'HEAD'] as const) {
        const body = method === 'POST' || method === 'PUT' ? Buffer.from('data') : undefined
        await ask(`/${status}`, { method, headers, ...(body === undefined ? {} : { body }) })
      }
    }
    const arrived = server.seen
      .filter(({ target }) => target === '/end')
      .map(({ method, body, headers: seen }) =>
        [method, body, seen['content-type'] ?? '-', seen['x-kept']].join(' '),
      )
    const kept = ['POST data text/plain yes', 'PUT data text/plain yes']
    const rest = ['GET  text/plain yes', 'HEAD  text/plain yes']
    assert.deepEqual(arrived, [
      ...['GET  - yes', kept[1], ...rest],
      ...['GET  - yes', kept[1], ...rest],
      ...['GET  - yes', 'GET  - yes', 'GET  - yes', 'HEAD  text/plain yes'],
      ...[...kept, ...rest],
      ...[...kept, ...rest],
    ])
  })
})

test('ten redirects are followed and not one more', async () => {
  const respond: Respond = ({ target }, response) => {
    const left = Number(target.slice(1))
    if (left === 0) response.end('arrived')
    else response.writeHead(302, { Location: `${left - 1}` }).end()
  }
  await stage(respond, async ({ ask }) => {
    assert.equal(text(await ask('/10')), 'arrived')
    assert.deepEqual((await ask('/11')).error, { code: 'network', message: 'more than 10 redirects' })
  })
})

test('the digest for one address is not sent to another one that it leads to, which gets its own', async () => {
  const answered = /uri="([^"]*)"/
  const respond: Respond = ({ target, headers }, response) => {
    const [, uri] = answered.exec(headers.authorization ?? '') ?? []
    if (uri === undefined)
      response.writeHead(401, { 'WWW-Authenticate': `Digest realm="a", nonce="${target}", qop="auth"` }).end()
    // RFC 7616, section 3.4.6.
    else if (uri !== target) response.writeHead(400).end()
    else if (target === '/end') response.end('fine')
    else response.writeHead(302, { Location: '/end' }).end()
  }
  await stage(respond, async ({ ask }) => {
    const answer = await ask('/', { digest: { user: 'a', password: 'b' } })
    assert.deepEqual([answer.status, text(answer)], [200, 'fine'])
  })
})

/** Answers that announce more than comes, and leave the line open. */
const unendedAnswers = {
  'a redirect whose body never comes': ['302 Found', 'Location: /end\r\nContent-Length: 10'],
  'a redirect whose body ends with a connection that stays': ['302 Found', 'Location: /end'],
  'a challenge whose body ends with a connection that stays': [
    '401 Unauthorized',
    'WWW-Authenticate: Digest realm="a", nonce="b"',
  ],
}
for (const [title, [status, head]] of Object.entries(unendedAnswers))
  test(`${title} is not waited for`, async (t) => {
    let requests = 0
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.on('data', (request) => {
        requests += 1
        const isLast = /^GET \/end |^authorization: Digest/im.test(request.toString())
        socket.write(
          isLast
            ? 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine'
            : `HTTP/1.1 ${status}\r\n${head}\r\n\r\n`,
        )
      })
    })
    const port = await listen(server)
    t.after(() => server.close())
    const client = clientOf()
    t.after(() => client.close())
    const digest = { user: 'a', password: 'b' }
    const answer = await client.request(
      '@test/probe',
      requestOf(`http://127.0.0.1:${port}/`, { digest }),
      never,
      anywhere,
    )
    assert.deepEqual([text(answer), answer.error, requests], ['fine', undefined, 2])
  })

test('a redirect leads to the bytes that the server names, whatever letters they are', async () => {
  const latin1 = (text: string): string => Buffer.from(text).toString('latin1')
  const respond: Respond = ({ target }, response) => {
    const locations: Record<string, string> = { '/a': latin1('/ok?q=ä'), '/b': '/ok?q=\u00e4' }
    const location = locations[target]
    if (location === undefined) response.end(target)
    else response.writeHead(302, { Location: location }).end()
  }
  await stage(respond, async ({ ask }) => {
    assert.equal(text(await ask('/a')), '/ok?q=%C3%A4')
    assert.equal(text(await ask('/b')), '/ok?q=%E4')
  })
})

test('a redirect that leads out of http, or nowhere, is the answer', async () => {
  const respond: Respond = ({ target }, response) => {
    const location = { '/app': 'myapp://done?code=7', '/file': 'file:///etc/passwd', '/bad': 'http://' }[
      target
    ]
    response.writeHead(302, location === undefined ? {} : { Location: location }).end('moved')
  }
  await stage(respond, async ({ server, ask }) => {
    for (const target of ['/app', '/file', '/bad', '/none']) {
      const answer = await ask(target)
      assert.deepEqual([answer.status, text(answer), answer.error], [302, 'moved', undefined])
    }
    assert.equal(server.seen.length, 4)
  })
})

test('authorization and cookies stay with their host', async () => {
  const other = await startWebServer(ok)
  try {
    const respond: Respond = ({ target }, response) => {
      const location = { '/away': `${other.url}/there`, '/home': '/here' }[target]
      if (location === undefined) response.end('here')
      else response.writeHead(307, { Location: location }).end()
    }
    await stage(respond, async ({ server, client }) => {
      const headers: [string, string][] = [
        ['Cookie', 'session=1'],
        ['X-Other', 'kept'],
      ]
      const get = (credentials: string, target: string, more: [string, string][]) =>
        client.request(
          '@test/probe',
          requestOf(`http://${credentials}127.0.0.1:${server.port}${target}`, {
            headers: [...headers, ...more],
          }),
          never,
          anywhere,
        )
      await get('', '/home', [['Authorization', 'Bearer token']])
      await get('user:pass@', '/home', [])
      await get('', '/away', [['Authorization', 'Bearer token']])
      await get('user:pass@', '/away', [])
      const told = (seen: WebServer['seen']) =>
        seen.map(({ headers: { authorization, cookie, 'x-other': kept } }) => [authorization, cookie, kept])
      const basic = `Basic ${Buffer.from('user:pass').toString('base64')}`
      assert.deepEqual(told(server.seen.filter(({ target }) => target === '/here')), [
        ['Bearer token', 'session=1', 'kept'],
        [basic, 'session=1', 'kept'],
      ])
      assert.deepEqual(told(other.seen), [
        [undefined, undefined, 'kept'],
        [undefined, undefined, 'kept'],
      ])
    })
  } finally {
    await other.close()
  }
})

test('eight requests of a plugin are under way, the others wait in order, and other plugins do not', async () => {
  const waiting: (() => void)[] = []
  const respond: Respond = (_seen, response) => {
    waiting.push(() => response.end())
    arrived()
  }
  let arrived = (): void => undefined
  const until = (count: number) =>
    new Promise<void>((resolve) => {
      arrived = () => {
        if (waiting.length === count) resolve()
      }
      arrived()
    })
  await stage(respond, async ({ server, client, ask }) => {
    const answers = Array.from({ length: 11 }, (_, index) => ask(`/${index}`))
    await until(8)
    const other = client.request('@test/other', requestOf(`${server.url}/other`), never, anywhere)
    await until(9)
    assert.deepEqual(server.seen.map(({ target }) => target).sort(), [
      '/0',
      '/1',
      '/2',
      '/3',
      '/4',
      '/5',
      '/6',
      '/7',
      '/other',
    ])
    waiting[0]?.()
    await until(10)
    assert.equal(server.seen[9]?.target, '/8')
    for (const end of waiting) end()
    await until(12)
    for (const end of waiting) end()
    await Promise.all([...answers, other])
    assert.deepEqual(
      server.seen
        .slice(9)
        .map(({ target }) => target)
        .sort(),
      ['/10', '/8', '/9'],
    )
  })
})

test('a request that is cancelled ends at once, and one that waits is never sent', async () => {
  let arrived = (): void => undefined
  let closed = (): void => undefined
  const respond: Respond = (_seen, _response, request) => {
    request.socket.on('close', () => closed())
    arrived()
  }
  await stage(respond, async ({ server, client }) => {
    const there = new Promise<void>((resolve) => (arrived = resolve))
    const gone = new Promise<void>((resolve) => (closed = resolve))
    const cancel = new AbortController()
    const ask = (signal: AbortSignal) =>
      client.request('@test/probe', requestOf(server.url), signal, anywhere)
    const running = ask(cancel.signal)
    await there
    const before = AbortSignal.abort()
    const answers = await Promise.all([ask(before), (cancel.abort(), running)])
    for (const { error } of answers) assert.equal(error?.message, 'the request was cancelled')
    await gone
    assert.equal(server.seen.length, 1)
  })
})

test('closing the client ends every request and every connection', async () => {
  let arrived = (): void => undefined
  const server = await startWebServer(() => arrived())
  const there = new Promise<void>((resolve) => (arrived = resolve))
  const client = clientOf()
  try {
    const answer = client.request('@test/probe', requestOf(server.url), never, anywhere)
    await there
    await client.close()
    assert.equal((await answer).error?.message, 'the request was cancelled')
    const late = await client.request('@test/probe', requestOf(server.url), never, anywhere)
    assert.equal(late.error?.message, 'the request was cancelled')
  } finally {
    await server.close()
  }
})

test('connections that nobody uses make room for others, and those in use do not', async (t) => {
  const many = keptConnectionsLimit + 100
  const waiting: ServerResponse[] = []
  const open = new Set<Socket>()
  /** Answers when all of them are there. */
  const server = createServer((_request, response) => {
    // For so long a client may be asked to keep it.
    response.setHeader('Keep-Alive', 'timeout=600')
    if (waiting.push(response) === many) for (const one of waiting) one.end('fine')
  })
  server.keepAliveTimeout = 600_000
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  const port = await listen(server)
  t.after(() => server.close())
  const slow: ServerResponse[] = []
  const other: Respond = ({ target }, response) =>
    target === '/slow' ? void slow.push(response) : response.end('fine')
  await stage(other, async ({ client, ask }) => {
    const last = ask('/slow')
    await until('the slow request', async () => slow.length > 0)
    const allowed = { connect: () => undefined, httpRequests: many }
    const request = requestOf(`http://127.0.0.1:${port}/`)
    const answers = Array.from({ length: many }, () =>
      // As the host does, each with a signal of its own.
      client.request('@test/many', request, new AbortController().signal, allowed),
    )
    for (const answer of await Promise.all(answers)) assert.equal(text(answer), 'fine')
    assert.equal(open.size, many)
    assert.equal(text(await ask('/')), 'fine')
    await until('the server to have heard', async () => open.size <= keptConnectionsLimit - 2)
    assert.equal(open.size, keptConnectionsLimit - 2)
    slow[0]?.end('at last')
    assert.equal(text(await last), 'at last')
  })
})

for (const [title, begin, more] of [
  ['was cancelled', () => undefined, {}],
  ['brings more than it may', (response) => response.write('more'), { maxBody: 1 }],
] satisfies [string, (response: ServerResponse) => void, Partial<HttpRequest>][])
  test(`nothing is connected for a request that ${title}`, async () => {
    const controller = new AbortController()
    let hangUp: () => void
    const hungUp = new Promise<void>((resolve) => {
      hangUp = resolve
    })
    const unfinished: Respond = (_seen, response, { socket }) => {
      socket.once('close', hangUp)
      begin(response)
      if (more.maxBody === undefined) controller.abort()
    }
    await stage(ok, async ({ ask: askAnother }) => {
      await stage(unfinished, async ({ server, client }) => {
        await client.request('@test/probe', requestOf(server.url, more), controller.signal, anywhere)
        await hungUp
        // By then it would have been connected again.
        assert.equal(text(await askAnother('/')), 'fine')
        assert.equal(server.connections, 1)
      })
    })
  })

test('nothing is connected for a request that was cancelled while others are under way', async () => {
  const controller = new AbortController()
  const waiting: ServerResponse[] = []
  const gone: string[] = []
  const patient: Respond = ({ target }, response, { socket }) => {
    socket.once('close', () => gone.push(target))
    waiting.push(response)
  }
  await stage(ok, async ({ ask: askAnother }) => {
    await stage(patient, async ({ server, client, ask }) => {
      const others = [ask('/1'), ask('/2')]
      const cancelled = client.request(
        '@test/probe',
        requestOf(`${server.url}/3`),
        controller.signal,
        anywhere,
      )
      await until('all three', async () => waiting.length === 3)
      controller.abort()
      await cancelled
      await until('the end of its connection', async () => gone.includes('/3'))
      assert.equal(text(await askAnother('/')), 'fine')
      assert.equal(server.connections, 3)
      for (const response of waiting) response.end('fine')
      assert.deepEqual((await Promise.all(others)).map(text), ['fine', 'fine'])
    })
  })
})

test('a connection is used again', async () => {
  await stage(ok, async ({ server, ask }) => {
    for (let count = 0; count < 6; count += 1) await ask('/')
    // The next request may be off before the connection of the last one is free again.
    assert.ok(server.connections <= 2, `${server.connections} connections`)
  })
})

for (const [title, end] of [
  ['closes', (socket: Socket) => socket.end()],
  ['resets', (socket: Socket) => socket.resetAndDestroy()],
] as const)
  test(`what only reads is asked once more when the server ${title} a kept connection as the request comes`, async () => {
    const served = new Map<Socket, number>()
    const impatient: Respond = (_seen, response, { socket }) => {
      const count = (served.get(socket) ?? 0) + 1
      served.set(socket, count)
      if (count === 1) response.end('fine')
      else end(socket)
    }
    await stage(impatient, async ({ server, ask }) => {
      for (const method of ['GET', 'HEAD', 'GET', 'GET'] as const) {
        const answer = await ask('/', { method })
        assert.deepEqual([answer.status, answer.error], [200, undefined])
      }
      const seen = server.seen.length
      assert.ok(seen > 4, `${seen} requests`)
      // Whether it was done nobody knows: it is the plugin's to ask again.
      const errors: unknown[] = []
      for (let count = 0; count < 4; count += 1)
        errors.push((await ask('/', { method: 'POST', body: Buffer.from('x') })).error?.code)
      assert.equal(server.seen.length - seen, 4)
      assert.ok(errors.includes('network'))
    })
  })

test('an answer that has no body may say how long it would be', async (t) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (request) =>
      socket.write(
        request.toString().startsWith('GET /new ')
          ? 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'
          : 'HTTP/1.1 304 Not Modified\r\nETag: "7"\r\nContent-Length: 1234\r\n\r\n',
      ),
    )
  })
  const port = await listen(server)
  t.after(() => server.close())
  const client = clientOf()
  t.after(() => client.close())
  const place = `http://127.0.0.1:${port}`
  for (const [path, status] of [
    ['/', 304],
    ['/', 304],
    ['/new', 204],
  ] as const) {
    const answer = await client.request('@test/probe', requestOf(place + path), never, anywhere)
    assert.deepEqual([answer.status, answer.body.length, answer.error], [status, 0, undefined])
  }
})

test('a server that goes on without having been asked to is named as what it is', async (t) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'))
  })
  const port = await listen(server)
  t.after(() => server.close())
  const client = clientOf()
  t.after(() => client.close())
  const place = `127.0.0.1:${port}`
  const { error } = await client.request('@test/probe', requestOf(`http://${place}/`), never, anywhere)
  assert.deepEqual(error, {
    code: 'network',
    message: `${place} answered 100 Continue, which was not asked for (UND_ERR_SOCKET)`,
  })
})

test('a server may say a thousand times that the answer is still to come, and not once more', async (t) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (request) => {
      const count = Number(/^GET \/(\d+) /.exec(request.toString())?.[1])
      const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n'.repeat(count)
      socket.write(`${hints}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine`)
    })
  })
  const port = await listen(server)
  t.after(() => server.close())
  const client = clientOf()
  t.after(() => client.close())
  const place = `127.0.0.1:${port}`
  const ask = (count: number) =>
    client.request('@test/probe', requestOf(`http://${place}/${count}`, { timeout: 5_000 }), never, anywhere)
  assert.equal(text(await ask(1_000)), 'fine')
  const { status, error } = await ask(1_001)
  assert.deepEqual(
    [status, error],
    [0, { code: 'network', message: `${place} has sent more than 1000 interim answers (1xx)` }],
  )
})

test('a server that never answers is asked once', async () => {
  const mute: Respond = (_seen, _response, { socket }) => socket.end()
  await stage(mute, async ({ server, ask }) => {
    assert.match((await ask('/')).error?.message ?? '', /closed the connection before the answer/)
    assert.equal(server.seen.length, 1)
  })
})

test('an origin that is rewritten is answered by its replacement, also after a redirect', async () => {
  const replacement = await startWebServer(({ target }, response) => {
    const location = {
      '/relative': '/end',
      '/named': 'https://api.example.com/end',
      '/itself': `${replacement.url}/end`,
      '/other': 'http://second.example.com:81/end',
    }[target]
    if (location === undefined) response.end('replacement')
    else response.writeHead(302, { Location: location }).end()
  })
  const client = clientOf({
    rewrite: { 'https://api.example.com': replacement.url, 'http://second.example.com:81': replacement.url },
  })
  try {
    const targets = ['/direct?x=(1)', '/relative', '/named', '/itself', '/other']
    for (const target of targets) {
      const request = requestOf(`https://user:pass@api.example.com${target}`)
      assert.equal(text(await client.request('@test/probe', request, never, anywhere)), 'replacement', target)
    }
    const ends = replacement.seen.filter(
      ({ target }) => !['/relative', '/named', '/itself', '/other'].includes(target),
    )
    const basic = `Basic ${Buffer.from('user:pass').toString('base64')}`
    const host = `127.0.0.1:${replacement.port}`
    assert.deepEqual(
      ends.map(({ target, headers }) => [
        target,
        headers.host,
        headers['x-forwarded-host'],
        headers.authorization,
      ]),
      [
        ['/direct?x=(1)', host, 'api.example.com', basic],
        ['/end', host, 'api.example.com', basic],
        ['/end', host, 'api.example.com', basic],
        ['/end', host, 'api.example.com', basic],
        ['/end', host, 'second.example.com:81', undefined],
      ],
    )
  } finally {
    await client.close()
    await replacement.close()
  }
})

/** A proxy that takes whole addresses and tunnels, and leads everything to one server. */
async function startProxy(target: { http: number; https: number }) {
  const lines: string[] = []
  const proxy = createServer((request, response) => {
    lines.push(`${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? '-'}`)
    response.end(`proxied for ${request.headers.host}`)
  })
  proxy.on('connect', (request, socket) => {
    lines.push(`CONNECT ${request.url} ${request.headers['proxy-authorization'] ?? '-'}`)
    const onward = connect(target.https, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      onward.pipe(socket).pipe(onward)
    })
    for (const end of [onward, socket]) end.on('error', () => undefined)
  })
  const port = await listen(proxy)
  return {
    lines,
    port,
    async close() {
      proxy.closeAllConnections()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}

test('the proxy of the environment is used, but not for what it names as an exception, nor for this machine', async () => {
  const secure = await startWebServer((_seen, response) => response.end('through the tunnel'), { tls: true })
  const local = await startWebServer((_seen, response) => response.end('direct'))
  const proxy = await startProxy({ http: local.port, https: secure.port })
  const client = clientOf({
    environment: {
      HTTP_PROXY: `user:pw@127.0.0.1:${proxy.port}`,
      https_proxy: `http://127.0.0.1:${proxy.port}`,
      // Every address of this machine, and by its look of another one.
      NO_PROXY: 'lan.test,0.0.0.0',
    },
  })
  try {
    const get = async (url: string, insecure = false) => {
      const answer = await client.request('@test/probe', requestOf(url, { insecure }), never, anywhere)
      return answer.error?.message ?? text(answer)
    }
    assert.equal(await get('http://device.test/state?x=(1)'), 'proxied for device.test')
    assert.equal(await get(`https://secure.test:${secure.port}/`, true), 'through the tunnel')
    assert.match(await get(`https://secure.test:${secure.port}/`), /not trusted/)
    assert.equal(await get(`${local.url}/`), 'direct')
    assert.equal(await get(`http://0.0.0.0:${local.port}/`), 'direct')
    const basic = `Basic ${Buffer.from('user:pw').toString('base64')}`
    assert.deepEqual(proxy.lines, [
      `GET http://device.test/state?x=(1) ${basic}`,
      `CONNECT secure.test:${secure.port} -`,
      `CONNECT secure.test:${secure.port} -`,
    ])
  } finally {
    await client.close()
    await proxy.close()
    await secure.close()
    await local.close()
  }
})

test('a proxy that cannot be is an error of the request', async () => {
  const client = clientOf({ environment: { HTTP_PROXY: 'http://' } })
  try {
    const { error } = await client.request('@test/probe', requestOf('http://device.test/'), never, anywhere)
    assert.equal(error?.code, 'network')
  } finally {
    await client.close()
  }
})

test('more than a thousand waiting requests of one plugin are refused', async () => {
  const clock: Clock = systemClock
  await stage(
    () => undefined,
    async ({ client, server }) => {
      const answers = Array.from({ length: 1_009 }, () =>
        client.request('@test/probe', requestOf(server.url), never, anywhere),
      )
      const last = await answers.at(-1)
      assert.equal(last?.error?.message, 'too many requests are waiting: at most 1000')
      await client.close()
      await Promise.all(answers)
    },
    { clock },
  )
})
