import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { startHostFor, startTestHost, type TestHost } from '../helpers/test-host.ts'
import { exchange, parseAnswer, type RawAnswer } from './clients.ts'

let open: TestHost
let locked: TestHost
before(async () => {
  open = await startTestHost()
  locked = await startTestHost({ settings: { token: 'correct horse battery staple'.replaceAll(' ', '-') } })
})
after(async () => {
  await open.close()
  await locked.close()
})

function portOf(host: TestHost): string {
  return new URL(host.url).port
}

/** The whole answer to a request with headers that fetch would not let through. */
async function rawAnswer(
  host: TestHost,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<RawAnswer> {
  const all = { Host: `127.0.0.1:${portOf(host)}`, Connection: 'close', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return parseAnswer(await exchange(host.url, `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`))
}

async function ask(...request: Parameters<typeof rawAnswer>): Promise<{ status: number; code: unknown }> {
  const { status, body } = await rawAnswer(...request)
  return { status, code: body.code }
}

test('without a token only requests to an address of this host, from it or from no page, are served', async () => {
  const port = portOf(open)
  const own = `127.0.0.1:${port}`
  const served: Record<string, string>[] = [
    { Host: own },
    { Host: `localhost:${port}` },
    { Host: `LOCALHOST:${port}` },
    { Host: `[::1]:${port}` },
    { Host: `127.1.2.3:${port}` },
    { Origin: `http://${own}` },
    { Origin: `http://localhost:${port}` },
    { 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'none' },
  ]
  const refused: Record<string, string>[] = [
    { Host: 'evil.example' },
    { Host: `evil.example:${port}` },
    { Host: `127.0.0.1.evil.example:${port}` },
    { Host: `localhost.evil.example:${port}` },
    { Host: '127.0.0.1' },
    { Host: 'localhost:1' },
    { Host: '' },
    { Host: `evil@127.0.0.1:${port}` },
    { Origin: 'http://evil.example' },
    { Origin: `https://${own}` },
    { Origin: 'null' },
    { Origin: `http://127.0.0.1:1` },
    { Origin: `http://${own}.evil.example` },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' },
  ]
  for (const headers of served) {
    assert.deepEqual(
      await ask(open, '/api/plugins', headers),
      { status: 200, code: undefined },
      JSON.stringify(headers),
    )
  }
  for (const headers of refused) {
    assert.deepEqual(
      await ask(open, '/api/plugins', headers),
      { status: 403, code: 'forbidden' },
      JSON.stringify(headers),
    )
  }
})

test('a link on another site may lead to a page of the host, but not into its API', async () => {
  const link = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }
  const page = await ask(open, '/livez', link)
  const frame = await ask(open, '/livez', { ...link, 'Sec-Fetch-Dest': 'iframe' })
  const form = await ask(open, '/livez', link, 'POST')
  assert.deepEqual([page.status, frame.status, form.status], [200, 403, 403])
})

test('a form on another page cannot send a command', async () => {
  const answer = await open.request('POST', '/api/plugins/install', {
    body: '{"fullId":"@fixtures/hello"}',
    headers: { 'content-type': 'text/plain' },
  })
  assert.deepEqual([answer.status, answer.body.code], [415, 'unsupported_media_type'])
})

test('with a token every request that tells or changes something needs it', async () => {
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
  const right = 'correct-horse-battery-staple'
  const guarded = [
    ['GET', '/api/plugins'],
    ['GET', '/api/nothing'],
    ['GET', '/api/events'],
    ['PUT', '/api/plugins'],
    ['OPTIONS', '/api/plugins'],
    ['POST', '/plugins/hello/toggle'],
    ['DELETE', '/plugins/@fixtures/hello'],
    ['GET', '/api/schema/plugin.json'],
    ['GET', '/metrics'],
  ] as const
  for (const [method, path] of guarded) {
    const none = await ask(locked, path, {}, method)
    const wrong = await ask(locked, path, bearer(`${right}!`), method)
    assert.deepEqual(
      [none, wrong],
      [
        { status: 401, code: 'unauthorized' },
        { status: 401, code: 'unauthorized' },
      ],
      path,
    )
  }
  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    `Basic ${right}`,
    right,
    `Bearer ${right} x`,
    'Bearer\u00a0x',
  ]) {
    assert.equal(
      (await ask(locked, '/api/plugins', { Authorization: authorization })).status,
      401,
      authorization,
    )
  }
  assert.equal((await ask(locked, '/api/plugins', bearer(right))).status, 200)
  assert.equal((await ask(locked, '/api/plugins', { Authorization: `bearer  ${right} ` })).status, 200)
  assert.deepEqual(
    [(await ask(locked, '/livez', {})).status, (await ask(locked, '/readyz', {})).status],
    [200, 200],
  )
  const answer = await fetch(`${locked.url}/api/plugins`)
  assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, 'Bearer realm="lupine"'])
})

test('what a stranger has in a body twice is told in few words, wherever it stands', async () => {
  const twice = Array.from({ length: 5_000 }, () => '{"a":1,"a":2}').join()
  const body = `{"token":"x","${'k'.repeat(20_000)}":[${twice}]}`
  const answer = await fetch(new URL('/api/session', locked.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const text = await answer.text()
  const { code, errors } = JSON.parse(text)
  assert.deepEqual([answer.status, code], [400, 'body_invalid'])
  assert.match(errors[0].message, /more than once/)
  assert.ok(text.length < 100_000, `${text.length}`)
})

test('with a token the host may be called by any name', async () => {
  const headers = { Authorization: 'Bearer correct-horse-battery-staple', Host: 'lupine.example' }
  assert.equal((await ask(locked, '/api/plugins', headers)).status, 200)
})

const webSocket = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol': 'mqtt',
}

test('MQTT is spoken over WebSocket at /mqtt', async () => {
  const client = await connectAsync(`${open.url.replace('http', 'ws')}/mqtt`)
  try {
    await client.subscribeAsync('demo/topic')
    const heard = new Promise<string>((resolve) => {
      client.on('message', (_topic, payload) => resolve(payload.toString()))
    })
    await client.publishAsync('demo/topic', 'hello')
    assert.equal(await heard, 'hello')
  } finally {
    await client.endAsync()
  }
})

test('an upgrade goes through the same check, and to nowhere else', async () => {
  const cases: [string, Record<string, string>, number, unknown][] = [
    ['/mqtt', { ...webSocket, Origin: 'http://evil.example' }, 403, 'forbidden'],
    ['/mqtt', { ...webSocket, Host: 'evil.example' }, 403, 'forbidden'],
    ['/mqtt', { ...webSocket, 'Sec-Fetch-Site': 'cross-site' }, 403, 'forbidden'],
    ['/other', webSocket, 404, 'not_found'],
    ['/mqtt/', webSocket, 404, 'not_found'],
    ['/constructor', webSocket, 404, 'not_found'],
    ['/mqtt', { ...webSocket, Upgrade: 'other' }, 404, 'not_found'],
  ]
  for (const [path, headers, status, code] of cases) {
    assert.deepEqual(await ask(open, path, headers), { status, code }, `${path} ${JSON.stringify(headers)}`)
  }
  assert.deepEqual(await ask(locked, '/api/inspect', webSocket), { status: 401, code: 'unauthorized' })
})

test('an upgrade that the broker does not take is told why with problem details', async (context) => {
  const elsewhere = await startHostFor(context, { settings: { mqttUrl: 'mqtt://me:hunter2@127.0.0.1:1' } })
  const { 'Sec-WebSocket-Protocol': _mqtt, ...withoutProtocol } = webSocket
  const cases: [TestHost, Record<string, string>, number, string, RegExp][] = [
    [open, withoutProtocol, 400, 'body_invalid', /subprotocol "mqtt"/],
    [open, { ...webSocket, 'Sec-WebSocket-Protocol': 'chat' }, 400, 'body_invalid', /subprotocol "mqtt"/],
    [elsewhere, webSocket, 503, 'broker_unavailable', /connect to mqtt:\/\/127\.0\.0\.1:1 itself/],
  ]
  for (const [host, headers, status, code, sentence] of cases) {
    const answer = await rawAnswer(host, '/mqtt', headers)
    assert.deepEqual(
      [answer.status, answer.headers['content-type'], answer.headers['cache-control']],
      [status, 'application/problem+json', 'no-store'],
    )
    const { detail, title: _title, ...rest } = answer.body
    assert.deepEqual(rest, { type: `urn:lupine:problem:${code}`, status, code, instance: '/mqtt' })
    assert.match(detail, sentence)
  }
})

test('an offer of HTTP/2 is answered as if it were not there', async () => {
  const offer = {
    Connection: 'Upgrade, HTTP2-Settings',
    Upgrade: 'h2c',
    'HTTP2-Settings': 'AAMAAABkAAQAAP__',
  }
  assert.equal((await ask(open, '/api/plugins', offer)).status, 200)
  assert.equal((await ask(open, '/api/plugins', offer, 'POST')).status, 404)
})
