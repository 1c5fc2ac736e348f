import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import {
  createLoginLimit,
  failuresAllowed,
  failuresOfAll,
  failureWindow,
  wrongTokensAllowed,
} from '../../src/http/login-limit.ts'
import { cookieName, sessionCookie, sessionIn } from '../../src/http/session-cookie.ts'
import { createSessions, sessionLifetime, sessionsLimit } from '../../src/http/sessions.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { exchange, parseAnswer } from './clients.ts'

const token = 'correct-horse-battery-staple'
let host: TestHost
before(async () => {
  host = await startTestHost({ settings: { token } })
})
after(() => host.close())

interface Asked {
  status: number
  headers: Record<string, string>
  body: any
}

/** A request without the token, with headers that fetch would not let through. */
async function ask(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: unknown,
  of: TestHost = host,
): Promise<Asked> {
  const text = body === undefined ? '' : JSON.stringify(body)
  const all = {
    Host: new URL(of.url).host,
    Connection: 'close',
    ...(body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(text.length) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return parseAnswer(await exchange(of.url, `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`))
}

/** Logs in and answers the cookie as a browser would send it back. */
async function logIn(of: TestHost = host): Promise<string> {
  const { status, headers } = await ask('POST', '/api/session', {}, { token }, of)
  assert.equal(status, 201)
  return headers['set-cookie']?.split(';')[0] ?? ''
}

test('a login gives a cookie that no script reads and no other site sends', async () => {
  const { status, headers, body } = await ask('POST', '/api/session', {}, { token })
  assert.deepEqual([status, body], [201, { required: true, authenticated: true }])
  const [value = '', ...attributes] = headers['set-cookie']?.split('; ') ?? []
  assert.match(value, new RegExp(`^lupine-session-${new URL(host.url).port}=[\\w-]{43}$`))
  assert.deepEqual(attributes, ['Path=/', `Max-Age=${sessionLifetime / 1000}`, 'HttpOnly', 'SameSite=Strict'])
})

test('the cookie is taken for the token until the logout, a wrong one is not', async () => {
  const cookie = await logIn()
  const state = async (headers: Record<string, string>): Promise<unknown[]> => [
    (await ask('GET', '/api/plugins', headers)).status,
    (await ask('GET', '/api/session', headers)).body.authenticated,
  ]
  assert.deepEqual(await state({}), [401, false])
  assert.deepEqual(await state({ Cookie: `a=b; ${cookie}; c=d` }), [200, true])
  assert.deepEqual(await state({ Cookie: `${cookie.slice(0, -1)}!` }), [401, false])
  assert.deepEqual(await state({ Cookie: cookie.replace(/\d+=/, '1=') }), [401, false])
  assert.deepEqual(await state({ Cookie: cookie, Authorization: 'Bearer wrong' }), [401, false])
  const own = { Cookie: cookie, Origin: host.url }
  const out = await ask('DELETE', '/api/session', own)
  assert.deepEqual([out.status, out.body], [200, { required: true, authenticated: false }])
  assert.match(out.headers['set-cookie'] ?? '', /^lupine-session-\d+=; Path=\/; Max-Age=0; HttpOnly/)
  assert.deepEqual(await state({ Cookie: cookie }), [401, false])
})

test('a change with the cookie must come from a page of this host', async () => {
  const cookie = await logIn()
  const own = new URL(host.url).host
  const cases: [Record<string, string>, number][] = [
    [{ Origin: host.url }, 404],
    [{ 'Sec-Fetch-Site': 'same-origin' }, 404],
    [{ Host: 'lupine.example', Origin: 'https://lupine.example' }, 404],
    [{ Host: 'lupine.example:443', Origin: 'https://lupine.example' }, 404],
    [{}, 403],
    [{ Origin: 'null' }, 403],
    [{ Origin: 'http://evil.example' }, 403],
    [{ Origin: `http://${own}.evil.example` }, 403],
    [{ Origin: `http://evil.example/${own}` }, 403],
    [{ Origin: 'http://127.0.0.1:1' }, 403],
    [{ 'Sec-Fetch-Site': 'same-site' }, 403],
    [{ 'Sec-Fetch-Site': 'cross-site' }, 403],
    [{ 'Sec-Fetch-Site': 'none' }, 403],
  ]
  for (const [headers, status] of cases) {
    const answer = await ask('POST', '/api/plugins/nobody/toggle', { Cookie: cookie, ...headers }, {})
    assert.equal(answer.status, status, JSON.stringify(headers))
  }
  const bearer = await ask('POST', '/api/plugins/nobody/toggle', { Authorization: `Bearer ${token}` }, {})
  assert.equal(bearer.status, 404)
})

test('the inspector takes the cookie from a page of this host only', async () => {
  const cookie = await logIn()
  const webSocket = {
    Cookie: cookie,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  assert.equal(
    (await ask('GET', '/api/inspect', { ...webSocket, Origin: 'http://evil.example' })).status,
    403,
  )
  assert.equal((await ask('GET', '/api/inspect', { ...webSocket, Cookie: '' })).status, 401)
})

test('a login from a page elsewhere is refused, and so is one without JSON', async () => {
  assert.equal((await ask('POST', '/api/session', { Origin: 'http://evil.example' }, { token })).status, 403)
  assert.equal((await ask('POST', '/api/session', { 'Content-Type': 'text/plain' }, { token })).status, 415)
  assert.equal((await ask('POST', '/api/session', {}, { token, remember: true })).status, 400)
  assert.equal((await ask('POST', '/api/session')).status, 400)
})

test('guessing is stopped after a few tries, the right token included, and goes on when time has passed', async () => {
  const clock = createManualClock()
  const single = await startTestHost({ settings: { token }, clock })
  try {
    for (let attempt = 0; attempt < failuresAllowed; attempt += 1) {
      const { status, body } = await ask('POST', '/api/session', {}, { token: `wrong-${attempt}` }, single)
      assert.deepEqual([status, body.code], [401, 'unauthorized'])
      assert.ok(!JSON.stringify(body).includes('wrong-'))
    }
    const refused = await ask('POST', '/api/session', {}, { token }, single)
    assert.deepEqual(
      [refused.status, refused.body.code, refused.headers['retry-after'], refused.headers['set-cookie']],
      [429, 'too_many_requests', '900', undefined],
    )
    const bearer = await ask('GET', '/api/plugins', { Authorization: `Bearer ${token}` }, undefined, single)
    assert.equal(bearer.status, 200)
    clock.advance(failureWindow)
    assert.match(await logIn(single), /^lupine-session-/)
  } finally {
    await single.close()
  }
})

test('wrong tokens in requests are answered with 429 after a while, are counted, and lock nobody out', async () => {
  const clock = createManualClock()
  const single = await startTestHost({ settings: { token }, clock })
  const statusWith = async (given: string): Promise<number> =>
    (await ask('GET', '/api/plugins', { Authorization: `Bearer ${given}` }, undefined, single)).status
  try {
    for (let attempt = 0; attempt < wrongTokensAllowed; attempt += 1) {
      assert.equal(await statusWith(`wrong-${attempt}`), 401)
    }
    const refused = await ask('GET', '/metrics', { Authorization: 'Bearer wrong' }, undefined, single)
    assert.deepEqual(
      [refused.status, refused.body.code, refused.headers['retry-after']],
      [429, 'too_many_requests', '900'],
    )
    // Who gives none does not guess.
    assert.equal((await ask('GET', '/api/plugins', {}, undefined, single)).status, 401)
    assert.equal(await statusWith(token), 200)
    assert.match(await logIn(single), /^lupine-session-/)
    assert.equal((await ask('POST', '/api/session', {}, { token: 'wrong' }, single)).status, 401)
    await assert.rejects(
      connectAsync(single.mqttUrl, { password: 'wrong', username: 'x', reconnectPeriod: 0 }),
    )
    const metrics = await single.request('GET', '/metrics')
    const lines = String(metrics.body)
      .split('\n')
      .filter((line) => line.startsWith('lupine_wrong_tokens_total{'))
    assert.deepEqual(lines.sort(), [
      'lupine_wrong_tokens_total{via="login"} 1',
      'lupine_wrong_tokens_total{via="mqtt"} 1',
      `lupine_wrong_tokens_total{via="request"} ${wrongTokensAllowed + 1}`,
    ])
    clock.advance(failureWindow)
    assert.equal(await statusWith('wrong'), 401)
  } finally {
    await single.close()
  }
})

test('the limit counts by address, by network for IPv6, and over all', () => {
  const clock = createManualClock()
  const limit = createLoginLimit(clock)
  for (let count = 0; count < failuresAllowed; count += 1) {
    limit.failed('192.0.2.1')
    limit.failed(`2001:db8:1:2:${count}::1`)
    clock.advance(1_000)
  }
  assert.deepEqual(
    ['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2', '2001:db8:1:2::9', '2001:db8:1:3::9', '::1'].map(
      (address) => limit.wait(address) > 0,
    ),
    [true, true, false, true, false, false],
  )
  limit.succeeded('192.0.2.1')
  assert.equal(limit.wait('192.0.2.1'), 0)
  for (let count = 0; count < failuresOfAll; count += 1) limit.failed(`10.0.${count}.1`)
  assert.equal(limit.wait('192.0.2.200'), failureWindow)
  clock.advance(failureWindow)
  assert.equal(limit.wait('192.0.2.200'), 0)
})

test('a session ends after its lifetime, and the oldest when there are too many', () => {
  const clock = createManualClock()
  const sessions = createSessions(clock)
  const first = sessions.open()
  clock.advance(sessionLifetime - 1)
  const second = sessions.open()
  assert.deepEqual(
    [sessions.isOpen(first), sessions.isOpen(second), sessions.isOpen('')],
    [true, true, false],
  )
  clock.advance(1)
  assert.deepEqual([sessions.isOpen(first), sessions.isOpen(second)], [false, true])
  const more = Array.from({ length: sessionsLimit }, () => sessions.open())
  assert.deepEqual([sessions.isOpen(second), more.every((id) => sessions.isOpen(id))], [false, true])
})

test('with encryption the cookie is bound to this host', () => {
  assert.equal(cookieName(3000, true), '__Host-lupine-session-3000')
  assert.match(sessionCookie(3000, true, 'x'), /; SameSite=Strict; Secure$/)
  assert.equal(sessionIn('__Host-lupine-session-3000=x', 3000, true), 'x')
  assert.equal(sessionIn('lupine-session-3000=x', 3000, true), undefined)
})

test('without a token nobody needs to log in', async () => {
  const open = await startTestHost()
  try {
    const state = await open.request('GET', '/api/session')
    assert.deepEqual(state.body, { required: false, authenticated: true })
    const answer = await open.request('POST', '/api/session', { body: { token: 'anything' } })
    assert.deepEqual([answer.status, answer.headers.get('set-cookie')], [201, null])
  } finally {
    await open.close()
  }
})

/** Complete, but for a protocol that somebody speaks here. */
const handshake = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

test('every answer carries the security headers, also one that refuses a connection', async () => {
  const answers = [
    await ask('GET', '/livez'),
    await ask('GET', '/api/plugins'),
    await ask('GET', '/nothing'),
    parseAnswer(await exchange(host.url, 'NONSENSE\r\n\r\n')),
    await ask('OPTIONS', '*'),
    await ask('GET', '/api/inspect', { Connection: 'Upgrade', Upgrade: 'websocket' }),
    await ask('GET', '/mqtt', { ...handshake, 'Sec-WebSocket-Key': 'short' }),
    await ask('GET', '/mqtt', { ...handshake, 'Sec-WebSocket-Version': '12' }),
    await ask('GET', '/mqtt', handshake),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 401, 404, 400, 204, 401, 400, 400, 400],
  )
  for (const { headers } of answers) {
    assert.deepEqual(
      [
        headers['x-content-type-options'],
        headers['content-security-policy']?.split(';')[0],
        headers['referrer-policy'],
        headers['x-frame-options'],
        headers['cache-control'],
      ],
      ['nosniff', "default-src 'none'", 'no-referrer', 'SAMEORIGIN', 'no-store'],
    )
  }
})

test('MQTT over WebSocket needs the same password as over TCP; a login is not enough', async () => {
  const cookie = await logIn()
  for (const url of [host.mqttUrl, `${host.url.replace('http', 'ws')}/mqtt`]) {
    const wsOptions = { headers: { Cookie: cookie, Origin: host.url } }
    const options = { username: 'me', reconnectPeriod: 0, wsOptions }
    await assert.rejects(connectAsync(url, options), /Bad username or password|Not authorized/i)
    await assert.rejects(connectAsync(url, { ...options, password: 'wrong' }), /Bad username|Not authorized/i)
    const client = await connectAsync(url, { ...options, password: token })
    await client.endAsync()
  }
})
