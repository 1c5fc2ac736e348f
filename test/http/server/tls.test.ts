import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { startHostFor, startTestHost } from '../../helpers/test-host.ts'

const folder = join(import.meta.dirname, '..', '..', 'fixtures', 'tls')
const tlsCertFile = join(folder, 'certificate.pem')
const tlsKeyFile = join(folder, 'key.pem')
const ca = readFileSync(tlsCertFile, 'utf8')
const token = 'correct-horse-battery-staple'

interface Answer {
  status: number | undefined
  cookie: string | undefined
  body: any
}

async function ask(
  url: string,
  method = 'GET',
  headers: Record<string, string> = {},
  body = '',
): Promise<Answer> {
  const sent = request(url, { method, headers, ca, agent: false })
  sent.end(body)
  const [answer] = await once(sent, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  return {
    status: answer.statusCode,
    cookie: answer.headers['set-cookie']?.[0],
    body: JSON.parse(Buffer.concat(chunks).toString('utf8')),
  }
}

test('with a certificate HTTP, WebSocket and the broker are encrypted, and the cookie is only sent so', async (context) => {
  const host = await startHostFor(context, { settings: { token, tlsCertFile, tlsKeyFile } })
  assert.match(host.url, /^https:\/\/127\.0\.0\.1:\d+$/)
  assert.match(host.mqttUrl, /^mqtts:\/\/127\.0\.0\.1:\d+$/)
  assert.equal((await ask(`${host.url}/livez`)).status, 200)
  const json = { 'content-type': 'application/json', origin: host.url }
  const login = await ask(`${host.url}/api/session`, 'POST', json, JSON.stringify({ token }))
  assert.match(login.cookie ?? '', /^__Host-lupine-session-\d+=.*; Secure$/)
  const cookie = login.cookie?.split(';')[0] ?? ''
  assert.equal((await ask(`${host.url}/api/plugins`, 'GET', { cookie })).status, 200)
  for (const url of [host.mqttUrl, `${host.url.replace('https', 'wss')}/mqtt`]) {
    const client = await connectAsync(url, { username: 'me', password: token, ca, reconnectPeriod: 0 })
    await client.subscribeAsync('demo')
    const heard = once(client as never, 'message')
    await client.publishAsync('demo', 'x')
    assert.equal(String((await heard)[1]), 'x')
    await client.endAsync()
  }
})

test('without a token a page of the encrypted host is its own, and one without encryption is not', async (context) => {
  const host = await startHostFor(context, { settings: { tlsCertFile, tlsKeyFile } })
  const own = await ask(`${host.url}/api/plugins`, 'GET', { origin: host.url })
  const other = await ask(`${host.url}/api/plugins`, 'GET', { origin: host.url.replace('https', 'http') })
  assert.deepEqual([own.status, other.status, other.body.code], [200, 403, 'forbidden'])
})

test('who speaks without encryption is cut off, and who never speaks does not hold the end up', async (context) => {
  const host = await startHostFor(context, { settings: { tlsCertFile, tlsKeyFile } })
  const sockets = [host.url, host.mqttUrl].flatMap((url) =>
    ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', undefined].map((text) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.on('error', () => undefined)
      socket.resume()
      return {
        socket,
        text,
        connected: once(socket, 'connect'),
        closed: new Promise((resolve) => socket.once('close', resolve)),
      }
    }),
  )
  for (const { socket, text, connected, closed } of sockets) {
    await connected
    if (text === undefined) continue
    socket.write(text)
    await closed
  }
  await Promise.all(sockets.map(({ closed }) => closed))
})

test('a certificate that cannot be used stops the start with a sentence that says which', async () => {
  const start = (files: { tlsCertFile: string; tlsKeyFile: string }) => startTestHost({ settings: files })
  await assert.rejects(
    start({ tlsCertFile: '/no/such.pem', tlsKeyFile }),
    /^SettingsError: HOST_TLS_CERT_FILE cannot be read/,
  )
  await assert.rejects(
    start({ tlsCertFile, tlsKeyFile: tlsCertFile }),
    /^SettingsError: HOST_TLS_CERT_FILE and HOST_TLS_KEY_FILE cannot be used/,
  )
})
