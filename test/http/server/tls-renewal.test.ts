import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { copyFile, mkdir, rename } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { connectAsync, type MqttClient } from 'mqtt'
import { tlsReadInterval } from '../../../src/base/keys/tls-files.ts'
import { connect, createRecordingLogger } from '../../bus/bus-fixture.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { temporaryDirectory } from '../../helpers/temporary-directory.ts'
import { startHostFor } from '../../helpers/test-host.ts'

const fixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'tls')
const pem = (name: string): string => readFileSync(join(fixtures, name), 'utf8')
const ca = [pem('certificate.pem'), pem('renewed-certificate.pem')]
const [first, second] = ca.map((text) => new X509Certificate(text).fingerprint256)
const token = 'correct-horse-battery-staple'

/** What a new connection to this port is shown. */
async function shownAt(url: string): Promise<string | undefined> {
  const socket = connectTls({ host: '127.0.0.1', port: Number(new URL(url).port), ca })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

async function get(url: string, agent: Agent): Promise<{ body: any; reused: boolean }> {
  const sent = request(url, { agent, headers: { authorization: `Bearer ${token}` } })
  sent.end()
  const [answer] = await once(sent, 'response')
  let text = ''
  for await (const part of answer) text += String(part)
  const isJson = String(answer.headers['content-type']).includes('json')
  return { body: isJson ? JSON.parse(text) : text, reused: sent.reusedSocket }
}

async function echo(client: MqttClient, text: string): Promise<string> {
  const heard = once(client as never, 'message')
  await client.publishAsync('echo', text)
  return String((await heard)[1])
}

test('a renewed certificate is shown on new connections of every kind, and those before it go on', async (context) => {
  const folder = join(await temporaryDirectory(context), 'tls')
  await mkdir(folder)
  const tlsCertFile = join(folder, 'certificate.pem')
  const tlsKeyFile = join(folder, 'key.pem')
  const replace = async (source: string, target: string): Promise<void> => {
    await copyFile(join(fixtures, source), `${target}.new`)
    await rename(`${target}.new`, target)
  }
  await replace('certificate.pem', tlsCertFile)
  await replace('key.pem', tlsKeyFile)
  const clock = createManualClock(Date.parse('2100-01-01T00:00:00Z'))
  const recording = createRecordingLogger()
  const waiting: { message: string; resolve: () => void }[] = []
  const said = (message: string): Promise<void> =>
    new Promise((resolve) => void waiting.push({ message, resolve }))
  const hear = (level: 'info' | 'error') => (message: string, fields?: Record<string, unknown>) => {
    recording[level](message, fields)
    for (const one of waiting) if (message.startsWith(one.message)) one.resolve()
  }
  const logger = { ...recording, info: hear('info'), error: hear('error') }
  const host = await startHostFor(context, { settings: { token, tlsCertFile, tlsKeyFile }, clock, logger })
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 1 })
  context.after(() => agent.destroy())
  const webSocket = `${host.url.replace('https', 'wss')}/mqtt`
  const clients: MqttClient[] = []
  for (const url of [host.mqttUrl, webSocket]) {
    const client = await connect(context, url, { username: 'me', password: token, ca })
    await client.subscribeAsync('echo')
    clients.push(client)
  }
  const system = async () => (await get(`${host.url}/api/system`, agent)).body.certificate
  assert.deepEqual(await system(), {
    validFrom: '2026-11-21T02:46:58.000Z',
    validUntil: '2126-10-28T02:46:58.000Z',
    loadedAt: '2100-01-01T00:00:00.000Z',
    fault: null,
  })
  assert.match((await get(`${host.url}/metrics`, agent)).body, /^lupine_certificate_end_seconds 4948829218$/m)

  // Half of the renewal: the certificate is there, its key is not.
  const refused = said('What the certificate files hold cannot be used')
  await replace('renewed-certificate.pem', tlsCertFile)
  clock.advance(tlsReadInterval)
  await refused
  assert.deepEqual(await Promise.all([shownAt(host.url), shownAt(host.mqttUrl)]), [first, first])
  assert.match((await system()).fault, /^HOST_TLS_CERT_FILE and HOST_TLS_KEY_FILE cannot be used \(.*another/)
  assert.equal((await get(`${host.url}/readyz`, agent)).body.ready, true)
  assert.match((await get(`${host.url}/metrics`, agent)).body, /^lupine_certificate_fault 1$/m)

  const taken = said('A renewed certificate is in use')
  await replace('renewed-key.pem', tlsKeyFile)
  clock.advance(tlsReadInterval)
  await taken
  assert.deepEqual(await Promise.all([shownAt(host.url), shownAt(host.mqttUrl)]), [second, second])
  assert.deepEqual((await system()).fault, null)
  assert.match((await get(`${host.url}/metrics`, agent)).body, /^lupine_certificate_fault 0$/m)

  // Nobody who was connected has noticed, be it over HTTP, MQTT or WebSocket.
  assert.equal((await get(`${host.url}/livez`, agent)).reused, true)
  assert.deepEqual(await Promise.all(clients.map((client) => echo(client, 'still'))), ['still', 'still'])
  const strict = { username: 'me', password: token, ca: ca[1] ?? '', reconnectPeriod: 0 }
  for (const url of [host.mqttUrl, webSocket]) {
    const client = await connectAsync(url, strict)
    await client.endAsync()
  }
})
