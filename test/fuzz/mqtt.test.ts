import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import mqtt from 'mqtt'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { brokenText, bytes, json, mutated, runs, text, wellFormed } from './arbitraries.ts'
import { exchange, logOfMistakes } from './nasty-host.ts'

/** A real host and its broker, told anything by clients: every request has its answer, and nothing changes. */

interface Stage {
  host: TestHost
  client: mqtt.MqttClient
  mistakes: string[]
  /** Publishes a request and answers its response. */
  ask(verb: string, payload: Buffer): Promise<{ status: string; error?: Record<string, unknown> }>
}

async function start(context: TestContext): Promise<Stage> {
  const { logger, mistakes } = logOfMistakes()
  const host = await startTestHost({ logger, settings: { discoveryPrefix: 'homeassistant' } })
  context.after(() => host.close())
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/demo' } })
  assert.equal((await host.request('POST', '/api/plugins/demo/toggle')).body.state, 'running')
  const client = await mqtt.connectAsync(host.mqttUrl, { reconnectPeriod: 0 })
  context.after(() => client.endAsync(true))
  await client.subscribeAsync('host/response/#', { qos: 1 })
  const waiting: ((payload: string) => void)[] = []
  client.on('message', (_topic, payload) => waiting.shift()?.(payload.toString()))
  return {
    host,
    client,
    mistakes,
    async ask(verb, payload) {
      const answer = new Promise<string>((resolve) => waiting.push(resolve))
      await client.publishAsync(`host/request/${verb}`, payload, { qos: 1 })
      return JSON.parse(await answer) as { status: string; error?: Record<string, unknown> }
    },
  }
}

async function stateOf(host: TestHost): Promise<unknown> {
  const plugins = (await host.request('GET', '/api/plugins')).body
  return { plugins, seq: host.host.lifecycle.lastSeq }
}

const requests: [verb: string, good: unknown][] = [
  ['list', { transaction: 1 }],
  ['install', { plugin: '@fixtures/needy', repository: 'fixtures', version: '1.0.0' }],
  ['toggle', { plugin: '@fixtures/demo', enabled: true }],
  ['config', { plugin: 'hello', config: { name: 'x', interval: 5 } }],
  ['reload', { plugin: 'hello' }],
  ['update', { plugin: 'hello', version: '1.0.0' }],
  ['uninstall', { plugin: 'nobody', purge: ['kv'] }],
]

test('every request over MQTT is answered; refused, with a sentence, and without a change', async (context) => {
  const { host, mistakes, ask } = await start(context)
  const level = text()
    .map((value) =>
      wellFormed(value)
        .replace(/[+#/\u0000]/g, '')
        .slice(0, 200),
    )
    .filter((value) => value !== '')
  const request = fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .constantFrom(...requests)
        .chain(([verb, good]) => fc.tuple(fc.constant(verb), brokenText(mutated(good)))),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(
        fc.constantFrom(...requests.map(([verb]) => verb)),
        fc.oneof(bytes(), brokenText(json())),
      ),
    },
    { weight: 1, arbitrary: fc.tuple(level, brokenText(json())) },
  )
  let refused = 0
  await fc.assert(
    fc.asyncProperty(request, async ([verb, payload]) => {
      const what = `${verb} ${payload.toString('latin1').slice(0, 300)}`
      const before = await stateOf(host)
      const { status, error } = await ask(verb, payload)
      if (status === 'ok') return
      refused += 1
      assert.ok(error !== undefined, what)
      assert.ok(Number(error.status) < 500 || error.status === 502, `${what}: ${JSON.stringify(error)}`)
      assert.match(String(error.detail), /\w{2}.*\.$/s, what)
      assert.deepEqual(await stateOf(host), before, what)
    }),
    // A name that would fill the whole sentence.
    { numRuns: runs, examples: [[['config', Buffer.from(JSON.stringify({ plugin: 'a'.repeat(20_000) }))]]] },
  )
  assert.ok(refused > runs / 4, `${refused} of ${runs} were refused`)
  assert.deepEqual(mistakes, [])
})

test('any topic and payload of a client is taken or ignored: the host changes nothing and speaks no worse', async (context) => {
  const { host, client, mistakes, ask } = await start(context)
  const before = await stateOf(host)
  const parts = fc.constantFrom(
    'host',
    'plugins',
    '@fixtures',
    'demo',
    'controls',
    'level',
    'exposed',
    'set',
    'state',
    'status',
    'lifecycle',
    'homeassistant',
    '$SYS',
    '$share',
    'a%2Fb',
    '%zz',
    '',
  )
  const topic = fc
    .oneof(
      {
        weight: 3,
        arbitrary: fc.array(parts, { minLength: 1, maxLength: 7 }).map((levels) => levels.join('/')),
      },
      { weight: 1, arbitrary: text() },
      { weight: 1, arbitrary: text().map((value) => `host/plugins/@fixtures/demo/controls/${value}/set`) },
      {
        weight: 1,
        arbitrary: text().map((value) => `host/plugins/@fixtures/demo/exposed/level/${value}/set`),
      },
    )
    .map((value) =>
      wellFormed(value)
        .replace(/[+#\u0000]/g, '')
        .slice(0, 3_000),
    )
    .filter((value) => value !== '' && value.split('/').length <= 100 && !value.startsWith('host/request/'))
  const options = fc.record({ qos: fc.constantFrom(0 as const, 1 as const), retain: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(topic, fc.oneof(bytes(), brokenText(json())), options, async (name, payload, how) => {
      await client.publishAsync(name, payload, how)
      assert.ok(client.connected)
    }),
    { numRuns: runs },
  )
  assert.equal((await ask('list', Buffer.alloc(0))).status, 'ok')
  assert.deepEqual(await stateOf(host), before)
  assert.deepEqual(mistakes, [])
})

/** A CONNECT of MQTT 3.1.1 for client `c`, without a user. */
const hello = Buffer.from([0x10, 13, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 60, 0, 1, 0x63])

const packets: Buffer[] = [
  Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0xff]),
  Buffer.from([0x10, 0x00]),
  Buffer.from([0x00, 0x00]),
  Buffer.from([0xf0, 0x00]),
  Buffer.from([0x30, 0x05, 0x00, 0xff, 0x61, 0x62, 0x63]),
  Buffer.from([0x32, 0x05, 0x00, 0x01, 0x61, 0x00, 0x00]),
  Buffer.from([0x36, 0x05, 0x00, 0x01, 0x61, 0x00, 0x01]),
  Buffer.from([0x30, 0x05, 0x00, 0x03, 0xff, 0xfe, 0x80]),
  Buffer.from([0x30, 0x05, 0x00, 0x01, 0x23, 0x00, 0x00]),
  Buffer.from([0x82, 0x05, 0x00, 0x01, 0x00, 0x00, 0x00]),
  Buffer.from([0x82, 0x07, 0x00, 0x01, 0x00, 0x02, 0x23, 0x23, 0x07]),
  Buffer.from([0xa2, 0x02, 0x00, 0x00]),
  Buffer.from([0x40, 0x02, 0xff, 0xff]),
  Buffer.from([0x62, 0x02, 0x00, 0x01]),
  Buffer.from([0xe0, 0x00, 0xe0, 0x00]),
  Buffer.from('GET / HTTP/1.1\r\n\r\n'),
]

test('any packets on the raw port are answered or cut off, and other clients notice nothing', async (context) => {
  const { host, client, mistakes, ask } = await start(context)
  const before = await stateOf(host)
  const packet = fc.oneof(
    fc.constantFrom(...packets, hello),
    bytes(),
    fc
      .tuple(fc.constantFrom(...packets, hello), fc.nat(), fc.integer({ min: 0, max: 255 }))
      .map(([good, at, byte]) => {
        const changed = Buffer.from(good)
        changed[at % changed.length] = byte
        return changed
      }),
    fc
      .tuple(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 100, size: 'max' }))
      .map(([type, rest]) => Buffer.from([type, rest.length, ...rest])),
  )
  const chunks = fc.tuple(fc.boolean(), fc.array(packet, { minLength: 1, maxLength: 4 }))
  await fc.assert(
    fc.asyncProperty(chunks, async ([polite, given]) => {
      await exchange(host.mqttUrl, polite ? [hello, ...given] : given)
      assert.ok(client.connected)
    }),
    { numRuns: runs },
  )
  assert.equal((await ask('list', Buffer.alloc(0))).status, 'ok')
  assert.deepEqual(await stateOf(host), before)
  assert.deepEqual(mistakes, [])
})
