import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { after, before, mock, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { WebSocket } from 'ws'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'

/** The token is compared in constant time, whichever way it comes, and whatever its length. */

const token = 'correct-horse-battery-staple'
const compare = mock.method(crypto, 'timingSafeEqual')
syncBuiltinESMExports()

let host: TestHost
before(async () => {
  host = await startTestHost({ settings: { token } })
})
after(async () => {
  await host.close()
  compare.mock.restore()
  syncBuiltinESMExports()
})

const webSocket = (path: string): string => `${host.url.replace('http', 'ws')}${path}`

async function overMqtt(url: string, password: string): Promise<boolean> {
  try {
    const client = await connectAsync(url, { username: 'x', password, reconnectPeriod: 0 })
    await client.endAsync()
    return true
  } catch {
    return false
  }
}

function overInspector(given: string): Promise<boolean> {
  const socket = new WebSocket(webSocket('/api/inspect'), { headers: { authorization: `Bearer ${given}` } })
  return new Promise((resolve) => {
    socket.on('open', () => {
      socket.terminate()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

const waysIn: Record<string, (given: string) => Promise<boolean>> = {
  request: async (given) => {
    const headers = { authorization: `Bearer ${given}` }
    return (await host.request('GET', '/api/plugins', { headers })).status === 200
  },
  'page of metrics': async (given) => {
    const headers = { authorization: `Bearer ${given}` }
    return (await host.request('GET', '/metrics', { headers })).status === 200
  },
  inspector: overInspector,
  'MQTT client': (given) => overMqtt(host.mqttUrl, given),
  'MQTT client over WebSocket': (given) => overMqtt(webSocket('/mqtt'), given),
  // Last, as only so many wrong ones are looked at.
  login: async (given) => {
    const { status } = await host.request('POST', '/api/session', { body: { token: given } })
    return status === 201
  },
}

const wrong = ['c', token.slice(0, -1), `${token}!`, `${token.slice(0, -1)}x`]

for (const [name, enter] of Object.entries(waysIn)) {
  test(`a ${name} is let in with the token alone, and each guess is compared as a whole`, async () => {
    for (const [given, isRight] of [...wrong.map((text) => [text, false] as const), [token, true] as const]) {
      compare.mock.resetCalls()
      assert.equal(await enter(given), isRight, `${given.length} characters`)
      const compared = compare.mock.calls.map(({ arguments: [left, right] }) => [
        left.byteLength,
        right.byteLength,
      ])
      assert.ok(compared.length > 0, 'it was compared in another way')
      assert.deepEqual(new Set(compared.map(String)), new Set(['32,32']))
    }
  })
}

test('a login is looked up by its digest, so that a part of an id is worth nothing', async () => {
  const { headers } = await host.request('POST', '/api/session', { body: { token } })
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
  const statusWith = async (given: string): Promise<number> =>
    (await fetch(`${host.url}/api/plugins`, { headers: { cookie: given } })).status
  const hash = mock.method(crypto, 'createHash')
  syncBuiltinESMExports()
  try {
    assert.deepEqual(
      await Promise.all([cookie, cookie.slice(0, -1), `${cookie}x`].map(statusWith)),
      [200, 401, 401],
    )
    assert.ok(hash.mock.callCount() >= 3)
  } finally {
    hash.mock.restore()
    syncBuiltinESMExports()
  }
})
