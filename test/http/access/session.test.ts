import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { connect, connectAsync } from 'mqtt'
import { cutOffTime, ownCutOffTime, wrongTriesAllowed } from '../../../src/base/network/guess-limit.ts'
import { createSessionCookies } from '../../../src/http/access/session-cookie.ts'
import { createSessions, sessionLifetime, sessionsLimit } from '../../../src/http/access/sessions.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { startHostFor, startTestHost, type TestHost } from '../../helpers/test-host.ts'
import { startHttp } from '../http-over.ts'
import { exchange, handshake, parseAnswer, readEvents } from '../clients.ts'

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

/** Asks over one connection that stays open, as a browser does. */
function createKeptConnection(of: TestHost) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    async ask(
      method: string,
      path: string,
      headers: Record<string, string> = {},
      body?: unknown,
    ): Promise<Asked> {
      const type = body === undefined ? {} : { 'content-type': 'application/json' }
      const sent = request(new URL(path, of.url), { agent, method, headers: { ...type, ...headers } })
      sent.end(body === undefined ? undefined : JSON.stringify(body))
      const [answer] = await once(sent, 'response')
      const text = await readText(answer)
      return { status: answer.statusCode, headers: answer.headers, body: JSON.parse(text) }
    },
    close: () => agent.destroy(),
  }
}

/** Whether the broker lets a client in; it may hang up without a word. `origin`: of the web page that connects. */
function isTaken(url: string, password?: string, origin?: string): Promise<boolean> {
  return new Promise((resolve) => {
    const given = password === undefined ? {} : { username: 'x', password }
    const page = origin === undefined ? {} : { wsOptions: { origin } }
    const client = connect(url, { ...given, ...page, reconnectPeriod: 0 })
    const end = (taken: boolean): void => {
      resolve(taken)
      client.end(true)
    }
    client.on('connect', () => end(true))
    client.on('error', () => end(false))
    client.on('close', () => end(false))
  })
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
  // What only reads needs no word of the page that asks.
  assert.equal((await ask('HEAD', '/api/plugins', { Cookie: cookie })).status, 200)
  assert.equal((await ask('OPTIONS', '/api/plugins', { Cookie: cookie })).status, 204)
  const own = { Cookie: cookie, Origin: host.url }
  const out = await ask('DELETE', '/api/session', own)
  assert.deepEqual([out.status, out.body], [200, { required: true, authenticated: false }])
  assert.match(out.headers['set-cookie'] ?? '', /^lupine-session-\d+=; Path=\/; Max-Age=0; HttpOnly/)
  assert.deepEqual(await state({ Cookie: cookie }), [401, false])
  assert.equal((await ask('DELETE', '/api/session', { Authorization: `Bearer ${token}` })).status, 200)
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

test('after thirty wrong tries an address is cut off, right or wrong, at HTTP and MQTT; what is open stays', async () => {
  const clock = createManualClock()
  const single = await startTestHost({ settings: { token }, clock })
  const known = await connectAsync(single.mqttUrl, { password: token, username: 'x', reconnectPeriod: 0 })
  const cookie = await logIn(single)
  const kept = createKeptConnection(single)
  const statusOf = async (given: string): Promise<number> =>
    (await kept.ask('GET', '/api/plugins', { authorization: `Bearer ${given}` })).status
  try {
    // All ways in count together.
    for (let attempt = 0; attempt < 10; attempt += 1) {
      assert.equal(await statusOf(`wrong-${attempt}`), 401)
      assert.equal((await kept.ask('POST', '/api/session', {}, { token: `wrong-${attempt}` })).status, 401)
      assert.equal(await isTaken(single.mqttUrl, 'wrong'), false)
    }
    for (const given of [token, 'wrong']) {
      const answers = [
        await kept.ask('GET', '/api/plugins', { authorization: `Bearer ${given}` }),
        await kept.ask('GET', '/api/session', { authorization: `Bearer ${given}` }),
        await kept.ask('POST', '/api/session', {}, { token: given }),
      ]
      assert.deepEqual(
        answers.map(({ status, body, headers }) => [status, body.code, headers['retry-after']]),
        answers.map(() => [429, 'too_many_requests', '1']),
      )
      for (const url of [single.mqttUrl, `${single.url.replace('http', 'ws')}/mqtt`]) {
        assert.equal(await isTaken(url, given), false, url)
      }
      await assert.rejects(
        single.request('GET', '/api/plugins', { headers: { authorization: `Bearer ${given}` } }),
      )
    }
    // A login cannot be guessed, and whoever is connected goes on.
    assert.equal((await kept.ask('GET', '/api/plugins', { cookie })).status, 200)
    await known.publishAsync('home/lamp', 'on', { qos: 1 })
    clock.advance(ownCutOffTime)
    assert.equal(await statusOf(token), 200)
    const lines = String((await single.request('GET', '/metrics')).body)
      .split('\n')
      .filter((line) => /^lupine_(wrong_tokens|cut_off_addresses)_total/.test(line))
    assert.deepEqual(lines.sort(), [
      'lupine_cut_off_addresses_total 1',
      'lupine_wrong_tokens_total{via="login"} 10',
      'lupine_wrong_tokens_total{via="mqtt"} 10',
      'lupine_wrong_tokens_total{via="request"} 10',
    ])
  } finally {
    kept.close()
    await known.endAsync(true)
    await single.close()
  }
})

test('a web page elsewhere that guesses in the browser of the owner cuts off web pages there, and not the owner', async (context) => {
  const single = await startHostFor(context, { settings: { token }, clock: createManualClock() })
  const webSocket = `${single.url.replace('http', 'ws')}/mqtt`
  const origin = 'http://evil.example'
  for (let attempt = 0; attempt < wrongTriesAllowed; attempt += 1)
    assert.equal(await isTaken(webSocket, 'wrong', origin), false)
  assert.equal(await isTaken(webSocket, token, origin), false)
  assert.equal(await isTaken(webSocket, token), true)
  assert.equal(await isTaken(single.mqttUrl, token), true)
  assert.equal((await single.request('GET', '/api/plugins')).status, 200)
})

test('a page that has its name mean an address of the host guesses without cutting off the owner, who logs in meanwhile', async (context) => {
  const single = await startHostFor(context, {
    settings: { token, publicUrl: 'https://home.example.com' },
    clock: createManualClock(),
  })
  const kept = createKeptConnection(single)
  context.after(() => kept.close())
  const statusOf = async (host: string, given: string): Promise<number> =>
    (await kept.ask('GET', '/api/plugins', { host, authorization: `Bearer ${given}` })).status
  for (let attempt = 0; attempt < wrongTriesAllowed - 1; attempt += 1)
    assert.equal(await statusOf(`page-${attempt}.evil.example:3000`, 'wrong'), 401)
  const origin = { host: 'Evil.example.', origin: 'http://evil.example.' }
  assert.equal((await kept.ask('POST', '/api/session', origin, { token: 'wrong' })).status, 401)
  for (const host of [
    'evil.example:3000',
    'local.evil.example',
    '1.0.0.2.ip6.arpa',
    '127.0.0.1.evil.example',
    'home.example.com.',
  ])
    assert.equal(await statusOf(host, token), 429, host)
  for (const host of [
    '192.168.1.5:3000',
    '[fd00::5]:3000',
    'server:3000',
    'lupine.local',
    'lupine.home.arpa',
    'home.example.com',
  ])
    assert.equal(await statusOf(host, token), 200, host)
  // As anybody does: on a connection of his own, and by the page.
  assert.match(await logIn(single), /=/)
  // By a name that no page elsewhere can have the guesses count for all.
  for (let attempt = 0; attempt < wrongTriesAllowed; attempt += 1)
    assert.equal(await statusOf('lupine.local', 'wrong'), 401)
  for (const host of ['lupine.local', 'evil.example']) assert.equal(await statusOf(host, token), 429, host)
})

test('who gives no token does not guess', async (context) => {
  const single = await startHostFor(context, { settings: { token }, clock: createManualClock() })
  for (let attempt = 0; attempt < 40; attempt += 1) {
    assert.equal((await ask('GET', '/api/plugins', {}, undefined, single)).status, 401)
    assert.equal(
      (await ask('GET', '/api/plugins', { Authorization: 'Basic bWU6eA==' }, undefined, single)).status,
      401,
    )
  }
  for (let attempt = 0; attempt < wrongTriesAllowed; attempt += 1)
    for (const given of [undefined, '']) assert.equal(await isTaken(single.mqttUrl, given), false)
  assert.equal((await single.request('GET', '/api/plugins')).status, 200)
  assert.equal(await isTaken(single.mqttUrl, token), true)
})

test('behind a proxy that the owner trusts each client is cut off by itself, and nobody else is believed', async () => {
  for (const trustedProxies of [['127.0.0.0/8'], []]) {
    const clock = createManualClock()
    const single = await startTestHost({ settings: { token, trustedProxies }, clock })
    const kept = createKeptConnection(single)
    const from = async (address: string, given: string): Promise<number> => {
      const headers = { authorization: `Bearer ${given}`, 'x-forwarded-for': `10.0.0.1, ${address}` }
      return (await kept.ask('GET', '/api/plugins', headers)).status
    }
    try {
      for (let attempt = 0; attempt < wrongTriesAllowed; attempt += 1) await from('198.51.100.1', 'wrong')
      clock.advance(ownCutOffTime)
      const isTrusted = trustedProxies.length > 0
      assert.equal(await from('198.51.100.1', token), isTrusted ? 429 : 200)
      assert.equal(await from('198.51.100.2', token), 200)
      // Other connections of the proxy are not its client's.
      assert.equal((await single.request('GET', '/api/plugins')).status, 200)
      clock.advance(cutOffTime)
      assert.equal(await from('198.51.100.1', token), 200)
    } finally {
      kept.close()
      await single.close()
    }
  }
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

test('what follows the host by a login ends with it, what does so by the token goes on', async () => {
  const clock = createManualClock()
  const http = await startHttp({}, { clock, token })
  const login = await fetch(`${http.url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  const byLogin = await readEvents(`${http.url}/api/events`, { cookie })
  const byToken = await readEvents(`${http.url}/api/events`, { authorization: `Bearer ${token}` })
  for (const reader of [byLogin, byToken]) await reader.next()
  clock.advance(15_000)
  for (const reader of [byLogin, byToken]) assert.deepEqual(await reader.next(), { comment: 'still here' })
  const ended = await fetch(`${http.url}/api/session`, {
    method: 'DELETE',
    headers: { cookie, origin: http.url },
  })
  assert.equal(ended.status, 200)
  clock.advance(15_000)
  assert.equal(await byLogin.next(), undefined)
  assert.deepEqual(await byToken.next(), { comment: 'still here' })
  await http.close()
})

test('with encryption the cookie is bound to this host', () => {
  const cookies = createSessionCookies({ port: () => 3000, path: '/' })
  assert.match(cookies.of('x', true), /^__Host-lupine-session-3000=x; .*; SameSite=Strict; Secure$/)
  assert.equal(cookies.idIn('__Host-lupine-session-3000=x', true), 'x')
  assert.equal(cookies.idIn('lupine-session-3000=x', true), undefined)
  // Of two of one name the first has the longer path: the other may be that of another host, at the root.
  assert.equal(cookies.idIn('a=b; __Host-lupine-session-3000=x; __Host-lupine-session-3000=y', true), 'x')
  assert.equal(cookies.idIn('lupine-session-3000=y; __Host-lupine-session-3000=x', false), 'x')
  // A browser refuses the other name with a path.
  const below = createSessionCookies({ port: () => 3000, path: '/lupine/' })
  assert.match(below.of('x', true), /^__Secure-lupine-session-3000=x; Path=\/lupine\/; .*; Secure$/)
})

test('without a token nobody needs to log in', async (context) => {
  const open = await startHostFor(context)
  const state = await open.request('GET', '/api/session')
  assert.deepEqual(state.body, { required: false, authenticated: true })
  const answer = await open.request('POST', '/api/session', { body: { token: 'anything' } })
  assert.deepEqual([answer.status, answer.headers.get('set-cookie')], [201, null])
})

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

test('the cookie is Secure where the page was encrypted, by this host or by a proxy in front', async (context) => {
  const name = 'home.example.com'
  const single = await startHostFor(context, { settings: { token, publicUrl: `https://${name}` } })
  const cookieFor = async (headers: Record<string, string>): Promise<string | undefined> =>
    (await ask('POST', '/api/session', headers, { token }, single)).headers['set-cookie']
  const secure = await cookieFor({ Host: name, Origin: `https://${name}` })
  assert.match(secure ?? '', /^__Host-lupine-session-\d+=.*; Secure$/)
  // The proxy gave it another Host.
  assert.match((await cookieFor({ Origin: `https://${name}` })) ?? '', /; Secure$/)
  assert.match((await cookieFor({ Host: name })) ?? '', /; Secure$/)
  for (const headers of [{ Origin: single.url }, {}])
    assert.doesNotMatch((await cookieFor(headers)) ?? '', /Secure|__Host-/)
  const { headers: unknown } = await ask('POST', '/api/session', { Host: name }, { token })
  assert.doesNotMatch(unknown['set-cookie'] ?? '', /Secure|__Host-/)
  const headers = { Host: name, Cookie: secure?.split(';')[0] ?? '' }
  assert.equal((await ask('GET', '/api/plugins', headers, undefined, single)).status, 200)
  const change = { ...headers, Origin: `https://${name}` }
  assert.equal((await ask('POST', '/api/plugins/nobody/toggle', change, {}, single)).status, 404)
  const ended = await ask('DELETE', '/api/session', change, undefined, single)
  assert.match(ended.headers['set-cookie'] ?? '', /^__Host-lupine-session-\d+=; .*Max-Age=0; .*Secure$/)
})

test('who logs in through a proxy that does not pass Host on is told what to do', async () => {
  const origin = { Origin: 'https://home.example.com:8443' }
  const login = await ask('POST', '/api/session', { Host: 'home.example.com', ...origin }, { token })
  const headers = { Cookie: await logIn(), ...origin }
  const change = await ask('POST', '/api/plugins/nobody/toggle', headers, {})
  for (const { status, body } of [login, change]) {
    assert.equal(status, 403)
    assert.match(body.detail, /pass Host on as the browser sends it, port included, or set HOST_PUBLIC_URL/)
  }
})

test('without a token the public address is the host, and no other', async (context) => {
  const single = await startHostFor(context, { settings: { publicUrl: 'https://home.example.com/lupine' } })
  const statusOf = async (headers: Record<string, string>): Promise<number> =>
    (await ask('GET', '/api/plugins', headers, undefined, single)).status
  assert.deepEqual(
    [
      await statusOf({ Host: 'home.example.com' }),
      await statusOf({ Host: 'home.example.com:443', Origin: 'https://home.example.com' }),
      await statusOf({ Host: 'home.example.com', Origin: 'http://home.example.com' }),
      await statusOf({ Host: 'home.example.com:8443' }),
      await statusOf({ Host: 'evil.example' }),
    ],
    [200, 200, 403, 403, 403],
  )
})
