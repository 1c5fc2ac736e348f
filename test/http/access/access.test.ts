import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { createClientAddresses } from '../../../src/base/network/client-address.ts'
import { createGuessLimit } from '../../../src/base/network/guess-limit.ts'
import { Problem } from '../../../src/base/problem.ts'
import { type Access, type AccessSettings, createAccess } from '../../../src/http/access/access.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** What is listened at where no test can listen. */
function accessAt(port: number, settings: Partial<AccessSettings> = {}) {
  const clock = createManualClock()
  const guesses = createGuessLimit({ clock, warn: () => undefined })
  return createAccess({
    ...{ token: undefined, bind: '127.0.0.1', port: () => port, secure: false, basePath: '' },
    ...{ clock, guesses, addresses: createClientAddresses([]) },
    ...settings,
  })
}

function requestWith(headers: Record<string, string>, httpVersion = '1.1'): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  return Object.assign(request, {
    headers,
    rawHeaders: Object.entries(headers).flat(),
    httpVersion,
    url: '/',
  })
}

test('at the standard port of its scheme a host is called without it, as browsers do, and at no other', () => {
  for (const [scheme, port, other] of [
    ['http', 80, 443],
    ['https', 443, 80],
  ] as const) {
    const secure = scheme === 'https'
    const request = requestWith({ host: 'localhost', origin: `${scheme}://localhost` })
    accessAt(port, { secure }).checkSender(request)
    assert.throws(() => accessAt(other, { secure }).checkSender(request), { code: 'forbidden' })
  }
})

test('an address that is written in another way is the own one where it is listened at in that way', () => {
  const request = requestWith({ host: '[0:0:0:0:0:0:0:1]:3000' })
  accessAt(3000, { bind: '0:0:0:0:0:0:0:1' }).checkSender(request)
  assert.throws(() => accessAt(3000, { bind: '::1' }).checkSender(request), { code: 'forbidden' })
})

test('an address to listen at is called as browsers write it, too', () => {
  const host = '[::ffff:7f00:1]:3000'
  const request = requestWith({ host, origin: `http://${host}` })
  accessAt(3000, { bind: '::ffff:127.0.0.1' }).checkSender(request)
  assert.throws(() => accessAt(3000, { bind: '::1' }).checkSender(request), { code: 'forbidden' })
})

test('a request of HTTP/1.0 need not name the host, and without a token it is refused then', () => {
  const request = requestWith({}, '1.0')
  accessAt(3000, { token: 'correct-horse' }).checkSender(request)
  assert.throws(() => accessAt(3000).checkSender(request), { code: 'forbidden' })
})

test('with encryption whoever sends no origin gets a login that the host takes again', () => {
  const token = 'correct-horse'
  const access = accessAt(3000, { token, secure: true })
  const [cookie = ''] = access.logIn(requestWith({ host: 'localhost:3000' }), token)?.split(';') ?? []
  assert.equal(access.isKnown(requestWith({ cookie })), true)
})

test('where a token is needed and the host has none, nobody gets in, and is told whose move it is', () => {
  const reasonOf = (access: Access, authorization?: string): string => {
    try {
      access.checkToken(requestWith(authorization === undefined ? {} : { authorization }))
      return 'let in'
    } catch (error) {
      assert.ok(error instanceof Problem)
      assert.equal(error.code, 'unauthorized')
      return error.message
    }
  }
  for (const given of [undefined, 'Bearer x', 'Bearer undefined'])
    assert.match(reasonOf(accessAt(3000), given), /this host has none: set HOST_TOKEN/)
  assert.match(
    reasonOf(accessAt(3000, { token: 'correct-horse' }), 'Bearer x'),
    /as "Authorization: Bearer …"/,
  )
})

test('no plugin that is asked from outside gets a login or the token, however the cookie is called', () => {
  const token = 'correct-horse'
  for (const secure of [false, true])
    for (const basePath of ['', '/house']) {
      const access = accessAt(3000, { token, secure, basePath })
      const [login = ''] = access.logIn(requestWith({ host: 'localhost:3000' }), token)?.split(';') ?? []
      const request = requestWith({ cookie: `a=1; ${login}; b=2`, authorization: `Bearer ${token}` })
      assert.equal(access.isKnown(requestWith({ cookie: login })), true)
      assert.deepEqual(access.headersWithoutCredentials(request), [['cookie', 'a=1; b=2']], login)
    }
})
