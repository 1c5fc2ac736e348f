import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { problemType } from '../../src/http/answers/problem-answer.ts'
import { securityHeaders } from '../../src/base/network/security-headers.ts'
import { wrongTriesAllowed } from '../../src/base/network/guess-limit.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { exchange, handshake, parseAnswer, type RawAnswer } from './clients.ts'
import { startHttp } from './http-over.ts'

/** Every kind of answer carries the headers that keep browsers from doing what nobody wants. */

const token = 'correct-horse-battery-staple'
let open: TestHost
let locked: TestHost
let failing: Awaited<ReturnType<typeof startHttp>>
before(async () => {
  open = await startTestHost()
  // Behind a proxy, whose connections are not dropped.
  locked = await startTestHost({ settings: { token, trustedProxies: ['127.0.0.1'] } })
  failing = await startHttp(
    {
      list: () => {
        throw new Error('a mistake')
      },
    },
    { readiness: () => ({ ready: false, reasons: ['starting'] }) },
  )
  const fullId = '@fixtures/hello'
  assert.equal((await open.request('POST', '/api/plugins/install', { body: { fullId } })).status, 201)
})
after(async () => {
  await failing.close()
  await open.close()
  await locked.close()
})

/** Whom to ask. */
const at = { open: () => open.url, locked: () => locked.url, failing: () => failing.url }

/** Sends a request as it is written; `HOST` stands for the host's own name and port. */
async function send(url: string, head: readonly string[], body = ''): Promise<RawAnswer> {
  const lines = head.map((line) => line.replace('HOST', new URL(url).host))
  return parseAnswer(await exchange(url, `${lines.join('\r\n')}\r\n\r\n${body}`))
}

const hostLine = 'Host: HOST'
const end = 'Connection: close'
const bearer = `Authorization: Bearer ${token}`
const json = (text: string): string[] => ['Content-Type: application/json', `Content-Length: ${text.length}`]
const handshakeLines = Object.entries(handshake).map(([name, value]) => `${name}: ${value}`)
const install = '{"fullId":"@fixtures/hello"}'
const config = '{"config":{"interval":0}}'

interface Kind {
  name: string
  status: number
  of?: keyof typeof at
  /** The request line without its version, then headers; `Host` is added unless `bare`. */
  head: readonly string[]
  body?: string
  bare?: boolean
  /** What has to have happened. */
  after?: () => Promise<void>
  /** Expected in place of the usual ones. */
  headers?: Record<string, RegExp>
}

const page = {
  'content-security-policy': /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/,
  'x-frame-options': /^DENY$/,
  'cache-control': /^no-cache$/,
}
const asset = { 'cache-control': /^public, max-age=31536000, immutable$/ }
const document = { 'content-security-policy': /^sandbox; default-src 'none'; .*frame-ancestors 'self'/ }

/** Somebody behind the proxy; what is guessed is forgotten again with time. */
async function guessTooOften(): Promise<void> {
  const headers = { 'X-Forwarded-For': '198.51.100.1' }
  for (let attempt = 0; attempt < wrongTriesAllowed; attempt += 1)
    await locked.request('POST', '/api/session', { body: { token: 'wrong' }, headers })
}

const kinds: Kind[] = [
  { name: 'API', status: 200, head: ['GET /api/plugins'] },
  { name: 'head alone', status: 200, head: ['HEAD /api/plugins'] },
  { name: 'health', status: 200, head: ['GET /livez'] },
  { name: 'not ready', status: 503, of: 'failing', head: ['GET /readyz'] },
  { name: 'metrics', status: 200, head: ['GET /metrics'] },
  { name: 'description', status: 200, head: ['GET /api/openapi.json'] },
  { name: 'machine as text', status: 200, head: ['GET /api/machines/plugin-lifecycle?format=mermaid'] },
  {
    name: 'document',
    status: 200,
    head: ['GET /api/plugins/hello/doc?file=docs/page.html'],
    headers: document,
  },
  {
    name: 'rendered document',
    status: 200,
    head: ['GET /api/plugins/hello/doc?file=README.md&render=html'],
    headers: document,
  },
  { name: 'event stream', status: 200, head: ['HEAD /api/events'] },
  { name: 'methods', status: 204, head: ['OPTIONS /api/plugins'] },
  { name: 'methods of the host', status: 204, head: ['OPTIONS *'] },
  { name: 'page', status: 200, head: ['GET /plugins'], headers: page },
  { name: 'page of a host with a token', status: 200, of: 'locked', head: ['GET /'], headers: page },
  { name: 'asset that is none', status: 404, head: ['GET /assets/none.js'] },
  {
    name: 'login',
    status: 201,
    head: ['POST /api/session', ...json('{"token":"x"}')],
    body: '{"token":"x"}',
  },
  { name: 'parser', status: 400, head: ['hello'], bare: true },
  { name: 'address', status: 400, head: ['GET /%zz'] },
  { name: 'other address', status: 400, head: ['GET http://evil.example/'] },
  { name: 'no Host', status: 400, head: ['GET /livez HTTP/1.1'], bare: true },
  { name: 'body', status: 400, head: ['POST /api/plugins/install', ...json('{')], body: '{' },
  { name: 'no token', status: 401, of: 'locked', head: ['GET /api/plugins'] },
  { name: 'sender', status: 403, head: ['GET /api/plugins', 'Origin: http://evil.example'] },
  { name: 'nothing there', status: 404, head: ['GET /nothing'] },
  { name: 'method', status: 405, head: ['PUT /api/plugins'] },
  {
    name: 'conflict',
    status: 409,
    head: ['POST /api/plugins/install', ...json(install)],
    body: install,
  },
  { name: 'revision', status: 412, head: ['POST /api/plugins/hello/toggle', 'If-Match: "0"'] },
  {
    name: 'too large',
    status: 413,
    head: ['POST /api/plugins/install', ...json('').slice(0, 1), 'Content-Length: 9999999'],
  },
  {
    name: 'kind of body',
    status: 415,
    head: ['POST /api/plugins/install', 'Content-Type: text/plain', 'Content-Length: 1'],
    body: 'x',
  },
  {
    name: 'expectation',
    status: 417,
    head: ['POST /api/plugins/install', 'Expect: miracles', ...json('{}')],
    body: '{}',
  },
  {
    name: 'configuration',
    status: 422,
    head: ['POST /api/plugins/hello/config', ...json(config)],
    body: config,
  },
  {
    name: 'guesses',
    status: 429,
    of: 'locked',
    after: guessTooOften,
    head: ['POST /api/session', 'X-Forwarded-For: 198.51.100.1', ...json('{"token":"x"}')],
    body: '{"token":"x"}',
  },
  { name: 'head too large', status: 431, head: ['GET /', `X: ${'x'.repeat(20_000)}`] },
  { name: 'mistake of the host', status: 500, of: 'failing', head: ['GET /api/plugins'] },
  { name: 'WebSocket without one', status: 400, head: ['GET /mqtt'] },
  { name: 'WebSocket half', status: 400, head: ['GET /mqtt', 'Connection: Upgrade', 'Upgrade: websocket'] },
  { name: 'WebSocket without MQTT', status: 400, head: ['GET /mqtt', ...handshakeLines] },
  {
    name: 'WebSocket without a token',
    status: 401,
    of: 'locked',
    head: ['GET /api/inspect', ...handshakeLines],
  },
  { name: 'WebSocket from elsewhere', status: 403, head: ['GET /mqtt', 'Origin: null', ...handshakeLines] },
  { name: 'WebSocket to nowhere', status: 404, head: ['GET /', ...handshakeLines] },
  {
    name: 'WebSocket without Host',
    status: 400,
    head: ['GET /mqtt HTTP/1.1', ...handshakeLines],
    bare: true,
  },
]

function check(name: string, { status, headers }: RawAnswer, expected: Kind): void {
  assert.equal(status, expected.status, name)
  for (const [header, value] of Object.entries(securityHeaders)) {
    const key = header.toLowerCase()
    const other = expected.headers?.[key]
    if (other === undefined) assert.equal(headers[key], value, `${name}: ${header}`)
    else assert.match(headers[key] ?? '', other, `${name}: ${header}`)
  }
  assert.deepEqual([headers.server, headers['x-powered-by']], [undefined, undefined], name)
}

for (const kind of kinds) {
  test(`${kind.status}, ${kind.name}: the headers are there`, async () => {
    await kind.after?.()
    const [line = '', ...rest] = kind.head
    const rightful = kind.of === 'locked' && kind.status !== 401 ? [bearer] : []
    const closing = rest.some((text) => text.startsWith('Connection:')) ? [] : [end]
    const head =
      kind.bare === true ? kind.head : [`${line} HTTP/1.1`, hostLine, ...closing, ...rightful, ...rest]
    const answer = await send(at[kind.of ?? 'open'](), head, kind.body)
    check(kind.name, answer, kind)
    if (answer.headers['content-type'] === problemType) checkProblem(answer, line)
  })
}

/** RFC 9457; what the parser has refused has no address that could be told. */
function checkProblem({ status, body }: RawAnswer, line: string): void {
  assert.deepEqual(
    ['type', 'title', 'detail', 'code'].map((member) => typeof body[member]),
    ['string', 'string', 'string', 'string'],
  )
  const isParsed = line !== 'hello' && status !== 431
  const [, address = ''] = line.split(' ')
  const path = address.replace(/[?].*/, '')
  assert.deepEqual([body.status, body.instance], [status, isParsed ? path : undefined])
}

test('the files of the pages and what has not changed carry them, too', async () => {
  const get = (path: string, ...headers: string[]): Promise<RawAnswer> =>
    send(open.url, [`GET ${path} HTTP/1.1`, hostLine, end, ...headers])
  const whole = await get('/')
  const files = [...String(whole.body).matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '')
  assert.equal(files.length, 2)
  for (const path of files) {
    const first = await get(path)
    check(path, first, { name: path, status: 200, head: [], headers: asset })
    const again = await get(path, `If-None-Match: ${first.headers.etag}`)
    check(`${path} again`, again, { name: path, status: 304, head: [], headers: asset })
  }
  const unchanged = await get('/', `If-None-Match: ${whole.headers.etag}`)
  check('page again', unchanged, { name: 'page', status: 304, head: [], headers: page })
  // As a proxy makes of it that compresses, and as a cache asks that has several.
  for (const tags of [`W/${whole.headers.etag}`, `"other", W/${whole.headers.etag}`, '*']) {
    const known = await get('/', `If-None-Match: ${tags}`)
    check(`page again, ${tags}`, known, { name: 'page', status: 304, head: [], headers: page })
  }
  assert.equal((await get('/', 'If-None-Match: "other"')).status, 200)
})

test('every code of the table of errors has been asked for, or goes the way of those that were', () => {
  // Whatever the code, the answer is written in one place; the table above has one of each kind of raiser.
  assert.deepEqual(
    [400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 429, 500, 503].filter(
      (status) => !kinds.some((kind) => kind.status === status),
    ),
    [],
  )
})
