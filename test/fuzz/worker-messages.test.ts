import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import mqtt from 'mqtt'
import { isJsonObject } from '../../src/base/text/json.ts'
import { type LogFields, type Logger, writtenFields } from '../../src/base/log/log.ts'
import { postToHost } from '../../src/schema/worker/call-frames.ts'
import type { PluginCall, SerializedValues } from '../../src/schema/worker/plugin-call.ts'
import { createFrameWriter } from '../../src/schema/worker/message-frames.ts'
import {
  type HostMessage,
  type WorkerMessage,
  parseWorkerMessage,
  workerMessageMembers,
} from '../../src/schema/worker/worker-protocol.ts'
import { exposureBytesLimit } from '../../src/schema/worker/operation-size.ts'
import { operationMembers, parseOperation } from '../../src/schema/worker/operation.ts'
import { listen } from '../helpers/listen.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { until } from '../helpers/until.ts'
import { readEvents } from '../http/clients.ts'
import { startWebServer } from '../outside/web-server.ts'
import { mutated, nastyTexts, runs, text, uncommonValue } from './arbitraries.ts'

/**
 * A plugin that has taken its worker over says anything that a structured clone can carry. The host, its other
 * plugins and its clients go on; the worst is the end of that one plugin.
 */

/** The workers of this process by the plugin that they were told to load, and its number there. */
function watchWorkers(context: TestContext): Map<string, { worker: Worker; isolate: number }> {
  const workers = new Map<string, { worker: Worker; isolate: number }>()
  const { postMessage } = Worker.prototype
  Worker.prototype.postMessage = function (this: Worker, ...given: Parameters<typeof postMessage>) {
    const message = given[0] as HostMessage
    if (message.kind === 'load') workers.set(message.source.id, { worker: this, isolate: message.isolate })
    postMessage.apply(this, given)
  }
  context.after(() => {
    Worker.prototype.postMessage = postMessage
  })
  return workers
}

const bytes = new Uint8Array([1, 2])
const serialized: SerializedValues = {
  body: bytes,
  references: [{ owner: 1, handle: 0, type: 'table', plugin: '@a/b' }],
}
const counts = {
  timers: 1,
  pollers: 1,
  eventSubscriptions: 1,
  mqttSubscriptions: 1,
  objects: 1,
  sensors: 1,
  controls: 1,
  throttles: 1,
  httpRequests: 1,
  httpHandlers: 1,
  sockets: 1,
  schedules: 1,
  watches: 1,
  serialPorts: 1,
  discoveries: 1,
}
const exposure = {
  component: 'light',
  type: 'light',
  name: 'Lamp',
  features: ['state', 'brightness'],
  writable: ['state'],
  min: 0,
  max: 100,
  options: ['a'],
}

/** One good operation of every kind; that none is forgotten is tested. */
const goodOperations: Record<keyof typeof operationMembers, unknown> = {
  subscribeEvent: { kind: 'subscribeEvent', name: 'e' },
  unsubscribeEvent: { kind: 'unsubscribeEvent', name: 'e' },
  subscribeTopic: { kind: 'subscribeTopic', subscription: 1, filter: 'a/#' },
  unsubscribeTopic: { kind: 'unsubscribeTopic', subscription: 1 },
  removeValue: { kind: 'removeValue', of: 'sensor', id: 's' },
  setExposure: { kind: 'setExposure', id: 'lamp', exposure },
  removeExposure: { kind: 'removeExposure', id: 'lamp' },
  setHttpHandler: {
    kind: 'setHttpHandler',
    handler: 1,
    hook: { path: 'a/b', auth: 'secret', methods: ['POST'] },
  },
  removeHttpHandler: { kind: 'removeHttpHandler', handler: 1 },
  removeSchedule: { kind: 'removeSchedule', schedule: 1 },
  unwatch: { kind: 'unwatch', watch: 1 },
  setKeyValue: { kind: 'setKeyValue', key: 'k', entry: { value: 1, expiresAt: 5e12, secure: true } },
  call: {
    kind: 'call',
    number: 1,
    call: {
      service: 'http',
      request: {
        url: 'http://127.0.0.1:1/',
        method: 'GET',
        headers: [['a', 'b']],
        timeout: 50,
        insecure: false,
      },
    },
  },
  cancel: { kind: 'cancel', number: 1 },
  openConnection: {
    kind: 'openConnection',
    connection: 1,
    target: {
      kind: 'webSocket',
      url: 'ws://127.0.0.1:1/',
      headers: [['a', 'b']],
      protocols: ['p'],
      ping: 1_000,
      insecure: false,
      reconnect: { min: 1_000, max: 2_000 },
    },
  },
  closeConnection: { kind: 'closeConnection', connection: 1 },
  connectionTaken: { kind: 'connectionTaken', connection: 1, bytes: 5 },
  connectionOverlong: { kind: 'connectionOverlong', connection: 1, session: 1, what: 'line' },
  connectionContinues: { kind: 'connectionContinues', connection: 1, lastEventId: 'ü', wait: 5 },
  limitReached: { kind: 'limitReached', limit: 'timers' },
  resources: { kind: 'resources', resources: counts },
}

/** One good frame of every kind, and some more. */
function goodFrames(): Uint8Array<ArrayBuffer> {
  const writer = createFrameWriter()
  writer.write('event', 'e', '{"a":1}')
  writer.write('message', 'a/b', bytes, { options: { qos: 1, retain: true } })
  writer.write('event', 'e', 'null', { foreignCaller: '@fixtures/demo' })
  writer.write('log', '', '{"at":"now","level":"info","message":"x","fields":{"traceback":"y"}}')
  writer.write('object', 'a.b', '{"on":true}')
  writer.write('sensor', 's', '1')
  writer.write('control', 's', '')
  writer.write('exposed', 'lamp', '{"state":true,"brightness":5}')
  writer.write('data', '1', bytes, { subscription: 1 })
  writer.write('text', '1', 'x', { subscription: 1, foreignCaller: '@fixtures/demo' })
  return writer.take()
}
const ofOperations = (...operations: unknown[]): unknown => ({
  kind: 'batch',
  isolate: 1,
  credits: 1,
  operations,
})

const callPlugin: PluginCall = {
  kind: 'callPlugin',
  owner: 1,
  handle: 0,
  operation: 'call',
  depth: 1,
  serialized,
}

/** Calls as a worker sends them. */
function goodCallFrames(): unknown[] {
  const messages: WorkerMessage[] = [
    { kind: 'question', isolate: 1, number: 6, question: callPlugin },
    { kind: 'callAnswered', isolate: 1, call: 2, outcome: { ok: true, serialized } },
  ]
  const frames: unknown[] = []
  for (const message of messages) postToHost({ postMessage: (sent) => frames.push(sent) }, message)
  return frames
}

/** Good messages of every kind but those that end the plugin at once. */
const goodMessages: Record<keyof typeof workerMessageMembers, unknown[]> = {
  ready: [{ kind: 'ready' }],
  pong: [{ kind: 'pong', sequence: 1, memory: 5 }],
  resumeBeats: [{ kind: 'resumeBeats' }],
  loaded: [{ kind: 'loaded', isolate: 1 }],
  loadFailed: [],
  overran: [{ kind: 'overran', isolate: 1, excess: 'time', serving: 0 }],
  batch: [...Object.values(goodOperations), goodFrames()].map((operation) => ofOperations(operation)),
  controlAnswered: [{ kind: 'controlAnswered', isolate: 1, request: 1, outcome: { ok: true, value: 1 } }],
  hookAnswered: [
    {
      kind: 'hookAnswered',
      isolate: 1,
      request: 1,
      outcome: { ok: true, status: 200, headers: [['a', 'b']], body: bytes },
    },
    { kind: 'hookAnswered', isolate: 1, request: 2, outcome: { ok: false, reason: 'failed' } },
  ],
  unloaded: [],
  question: [
    {
      kind: 'question',
      isolate: 1,
      number: 1,
      question: { kind: 'lookUpObject', fullPath: 'plugins.a.b.c' },
    },
    { kind: 'question', isolate: 1, number: 2, question: { kind: 'listPlugins' } },
    {
      kind: 'question',
      isolate: 1,
      number: 7,
      question: { kind: 'hookAddress', hook: { path: 'a', auth: 'none' } },
    },
    { kind: 'question', isolate: 1, number: 3, question: { kind: 'findPlugin', id: 'demo' } },
    { kind: 'question', isolate: 1, number: 4, question: callPlugin },
    {
      kind: 'question',
      isolate: 1,
      number: 5,
      question: {
        kind: 'refuseForeignCall',
        foreignCaller: '@fixtures/demo',
        permission: 'publish',
        value: 'a/b',
      },
    },
    {
      kind: 'question',
      isolate: 1,
      number: 6,
      question: { kind: 'refuseConnection', host: 'a', port: 1, foreignCaller: '@fixtures/demo' },
    },
  ],
  abandon: [{ kind: 'abandon', isolate: 1, number: 4 }],
  callAnswered: [{ kind: 'callAnswered', isolate: 1, call: 1, outcome: { ok: true, serialized } }],
  linkedAnswer: [
    { kind: 'linkedAnswer', isolate: 1, caller: 2, number: 1, outcome: { ok: true, serialized } },
    { kind: 'linkedAnswer', isolate: 1, caller: 2, number: 1, outcome: { ok: false, message: 'no' } },
  ],
  release: [{ kind: 'release', isolate: 1, releases: [{ owner: 1, handle: 0, count: 1 }] }],
}

async function start(
  context: TestContext,
): Promise<{ host: TestHost; say(message: unknown): void; mistakes: string[] }> {
  const mistakes: string[] = []
  // What the worker said wrongly is told, and logged; anything else would be a mistake of the host's.
  const expected = /not in the protocol|asked for nonsense/
  const error = (message: string, fields: LogFields = {}): void => {
    if (!expected.test(message) && fields.plugin === undefined) mistakes.push(message)
    if (message === 'A listener failed' || message === 'A service of the sandbox failed')
      mistakes.push(`${message} ${JSON.stringify(writtenFields(fields))}`)
  }
  const quiet = (): void => undefined
  const logger: Logger = { debug: quiet, info: quiet, warn: quiet, error }
  const workers = watchWorkers(context)
  const host = await startTestHost({
    logger,
    settings: { discoveryPrefix: 'homeassistant' },
    // The worker itself is not to be missed where the processor is short.
    limits: { unresponsiveAfter: 120_000 },
  })
  context.after(() => host.close())
  for (const id of ['hello', 'demo']) {
    await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
    const answer = await host.request('POST', `/api/plugins/${id}/toggle`)
    assert.equal(answer.body.state, 'running')
  }
  // The good messages are written for number 1.
  const say = (message: unknown): void => {
    const found = workers.get('@fixtures/hello')
    assert.ok(found !== undefined)
    const { worker, isolate } = found
    const copy: unknown = structuredClone(message)
    if (isJsonObject(copy) && copy.isolate === 1) copy.isolate = isolate
    worker.emit('message', copy)
  }
  return { host, say, mistakes }
}

async function assertServes(host: TestHost, what: string): Promise<void> {
  for (const path of ['objects', 'sensors', 'controls', 'logs', 'machine', '']) {
    const answer = await host.request('GET', `/api/plugins/hello/${path}`.replace(/\/$/, ''))
    assert.equal(answer.status, 200, `${path} after ${what}: ${JSON.stringify(answer.body).slice(0, 500)}`)
  }
  for (const path of ['/api/plugins', '/metrics', '/api/system', '/api/history']) {
    assert.equal((await host.request('GET', path)).status, 200, `${path} after ${what}`)
  }
}

test('whatever a worker says, the host answers, logs it, and the other plugin and the clients go on', async (context) => {
  assert.deepEqual(Object.keys(goodOperations), Object.keys(operationMembers))
  assert.deepEqual(Object.keys(goodMessages), Object.keys(workerMessageMembers))
  const { host, say, mistakes } = await start(context)
  const client = await mqtt.connectAsync(host.mqttUrl, { reconnectPeriod: 0 })
  context.after(() => client.endAsync(true))
  await client.subscribeAsync('#')
  client.on('message', () => undefined)
  for (const value of goodMessages.batch) say(value)
  const arrived = await until('what the worker said', async () => {
    const { objects } = (await host.request('GET', '/api/plugins/hello/objects')).body
    return 'a.b' in objects && objects
  })
  assert.deepEqual(arrived, { 'a.b': { on: true } })
  const seq = host.host.lifecycle.lastSeq
  const good = fc.constantFrom(...Object.values(goodMessages).flat(), ...goodCallFrames())
  const renamed = good.chain((message) =>
    text().map(
      (name) =>
        JSON.parse(
          JSON.stringify(message).replaceAll(/"(a\.b|lamp|s|k|e)"/g, () => JSON.stringify(name)),
        ) as unknown,
    ),
  )
  const frames = fc
    .tuple(fc.array(fc.tuple(fc.nat(goodFrames().length - 1), fc.nat(255))), fc.nat(goodFrames().length))
    .map(([changes, length]) => {
      const changed = goodFrames()
      for (const [index, byte] of changes) changed[index] = byte
      return ofOperations(changed.slice(0, length), goodOperations.removeValue)
    })
  const message = fc
    .oneof(
      { weight: 2, arbitrary: frames },
      { weight: 5, arbitrary: good.chain((value) => mutated(value, uncommonValue())) },
      { weight: 2, arbitrary: renamed },
      { weight: 1, arbitrary: uncommonValue() },
    )
    .filter((value) => !endsThePlugin(value))
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 4 }), async (messages) => {
      for (const each of messages) say(each)
      await assertServes(host, shown(messages))
      assert.ok(client.connected)
    }),
    { numRuns: Math.ceil(runs / 2) },
  )
  const other = await host.request('PUT', '/api/plugins/demo/controls/level', { body: { value: 7 } })
  assert.equal(other.status, 200)
  // A worker may say which limits the plugin has met, and is believed once for each; and that it wants an address.
  const facts = host.host.lifecycle
    .history({ after: seq })
    .filter(({ type }) => type !== 'PluginHookSecretChanged')
    .map(({ type, data }) => [type, data])
  const names = facts.map(([, data]) => (data as { limit?: string }).limit)
  assert.ok(
    facts.every(([type]) => type === 'PluginLimitReached'),
    JSON.stringify(facts),
  )
  assert.equal(new Set(names).size, names.length)
  const toggled = await host.request('POST', '/api/plugins/hello/toggle', { body: { enabled: false } })
  assert.equal(toggled.status, 200)
  assert.deepEqual((await host.request('GET', '/api/plugins/hello/objects')).body, { objects: {} })
  assert.deepEqual(mistakes, [])
})

test('a topic is not listened to any more after the unload, even if a worker used its number twice', async (context) => {
  const { host, say, mistakes } = await start(context)
  const subscribe = (filter: string): unknown => ({
    kind: 'batch',
    isolate: 1,
    credits: 1,
    operations: [{ kind: 'subscribeTopic', subscription: 1, filter }],
  })
  const before = host.host.lifecycle.get('@fixtures/hello')
  assert.equal(before.state, 'running')
  for (const nasty of nastyTexts) say(subscribe(nasty))
  say(subscribe('twice/a'))
  say(subscribe('twice/b'))
  assert.equal((await host.request('POST', '/api/plugins/hello/reload')).body.state, 'running')
  assert.deepEqual(mistakes, [])
})

test('a connection is not open any more after the unload, even if a worker used its number twice', async (context) => {
  const { host, say } = await start(context)
  const server = createServer((socket) => socket.on('error', () => undefined))
  const port = await listen(server)
  context.after(() => server.close())
  const connections = promisify(server.getConnections.bind(server))
  const target = { kind: 'tcp', host: '127.0.0.1', port, timeout: 60_000 }
  const open = { kind: 'openConnection', connection: 1, target }
  say(ofOperations(open, open))
  await once(server, 'connection')
  assert.equal((await host.request('POST', '/api/plugins/hello/reload')).body.state, 'running')
  await until('the end of all connections', async () => (await connections()) === 0)
})

test('a worker that counts wrongly gets no more room in the store than its plugin has, by the host’s own count', async (context) => {
  const { host, say } = await start(context)
  const store = (key: string, value: unknown): unknown => ({ kind: 'setKeyValue', key, entry: { value } })
  const kilobyte = 'x'.repeat(1_000)
  for (let sent = 0; sent < 4; sent += 1) {
    const operations = Array.from({ length: 500 }, (_, index) => store(`k${sent * 500 + index}`, kilobyte))
    say({ kind: 'batch', isolate: 1, credits: 1, operations })
  }
  say({ kind: 'batch', isolate: 1, credits: 1, operations: [store('large', 'x'.repeat(3 * 1024 * 1024))] })
  // What becomes smaller, or is deleted, makes room again.
  say({
    kind: 'batch',
    isolate: 1,
    credits: 1,
    operations: [store('k0', 'small'), { kind: 'setKeyValue', key: 'k1' }],
  })
  say({ kind: 'batch', isolate: 1, credits: 1, operations: [store('last', 'y'.repeat(1_500))] })
  await host.request('POST', '/api/plugins/hello/toggle', { body: { enabled: false } })
  const { entries } = JSON.parse(
    (await readFile(join(host.directory, '.kv', 'fixtures--hello.json'), 'utf8')).replace(/^[^{]*/, ''),
  )
  const names = Object.keys(entries)
  assert.ok(names.length > 1_000 && names.length < 1_048, `${names.length} entries`)
  assert.deepEqual(
    ['k0', 'k1', 'large', 'last'].map((name) => entries[name]?.value?.slice(0, 5)),
    ['small', undefined, undefined, 'yyyyy'],
  )
})

test('a worker that counts wrongly has no more told to Home Assistant than one message may have', async (context) => {
  const { host, say } = await start(context)
  const options = Array.from({ length: 100 }, (_, index) => `${index} ${'x'.repeat(200)}`)
  const large = { ...exposure, component: 'select', type: 'select', options }
  for (let sent = 0; sent < 100; sent += 1)
    say(ofOperations({ kind: 'setExposure', id: `e${sent}`, exposure: large }))
  say(
    ofOperations({ kind: 'removeExposure', id: 'e0' }, { kind: 'setExposure', id: 'last', exposure: large }),
  )
  const { exposures } = await until('the last exposure', async () => {
    const { body } = await host.request('GET', '/api/plugins/hello/exposures')
    return body.exposures.some(({ id }: { id: string }) => id === 'last') && body
  })
  const most = exposureBytesLimit / options.join('').length
  assert.ok(exposures.length > most / 2 && exposures.length < most, `${exposures.length} of ${most}`)
})

test('a worker that sends its requests all at once has as many under way as its plugin may, others wait', async (context) => {
  const { host, say } = await start(context)
  const waiting: (() => void)[] = []
  let most = 0
  const arrivals = new EventEmitter()
  const server = await startWebServer((_seen, response) => {
    waiting.push(() => response.end())
    most = Math.max(most, waiting.length)
    arrivals.emit('request')
  })
  context.after(() => server.close())
  const flood = (from: number): void => {
    const request = { url: server.url, method: 'GET', headers: [], timeout: 60_000, insecure: false }
    const operations = Array.from({ length: 50 }, (_, index) => ({
      kind: 'call',
      number: from + index,
      call: { service: 'http', request },
    }))
    say({ kind: 'batch', isolate: 1, credits: 1, operations })
  }
  const until = async (count: number): Promise<void> => {
    const signal = AbortSignal.timeout(30_000)
    while (server.seen.length < count) await once(arrivals, 'request', { signal })
  }
  flood(1_000)
  await until(8)
  for (let answered = 0; answered < 50; answered += 1) {
    await until(Math.min(50, answered + 8))
    waiting.shift()?.()
  }
  assert.equal(most, 8)
  // An owner who allows more is heeded here too, as is one who allows less.
  for (const httpRequests of [12, 2]) {
    await host.request('PUT', '/api/plugins/hello/limits', { body: { limits: { httpRequests } } })
    most = 0
    const before = server.seen.length
    flood(1_000)
    await until(before + httpRequests)
    for (let answered = 0; answered < 50; answered += 1) {
      await until(before + Math.min(50, answered + httpRequests))
      waiting.shift()?.()
    }
    assert.equal(most, httpRequests)
  }
})

test('a value that JSON cannot say is refused where it comes in', async (context) => {
  const { host, say } = await start(context)
  const shared = ['x']
  for (const value of [10n, new Map(), [shared, shared], NaN])
    say({
      kind: 'batch',
      isolate: 1,
      credits: 1,
      operations: [{ kind: 'setKeyValue', key: 'a', entry: { value } }],
    })
  say(ofOperations({ kind: 'setKeyValue', key: 'b', entry: { value: 1 } }))
  await host.request('POST', '/api/plugins/hello/toggle', { body: { enabled: false } })
  const stored = await readFile(join(host.directory, '.kv', 'fixtures--hello.json'), 'utf8')
  assert.deepEqual(Object.keys(JSON.parse(stored.replace(/^[^{]*/, '')).entries), ['b'])
})

test('a value that is no JSON, or too deep, is null to whoever wants it, and an empty one is refused', async (context) => {
  const { host, say, mistakes } = await start(context)
  const stream = await readEvents(`${host.url}/api/events`)
  const writer = createFrameWriter()
  writer.write('object', 'empty', '')
  for (const [path, text] of Object.entries({
    broken: '{"a":',
    lines: '\n\nevent: lifecycle\ndata: {}\n\n',
    deep: '['.repeat(100_000) + ']'.repeat(100_000),
    good: '{"on":true}',
  }))
    writer.write('object', path, text)
  writer.write('log', '', '{"at":"now","level":"info"}')
  writer.write('log', '', 'no JSON')
  say(ofOperations(writer.take()))
  const objects = await until('the last object', async () => {
    const answer = await host.request('GET', '/api/plugins/hello/objects')
    return 'good' in answer.body.objects && answer.body.objects
  })
  assert.deepEqual(objects, { broken: null, lines: null, deep: null, good: { on: true } })
  const events = await stream.until(({ data }) => data?.path === 'good')
  assert.deepEqual(
    events
      .filter(({ event }) => event !== undefined)
      .map(({ event, data }) => [event, data?.path, data?.value]),
    [
      ['object', 'broken', null],
      ['object', 'lines', null],
      ['object', 'deep', null],
      ['object', 'good', { on: true }],
    ],
  )
  assert.deepEqual(mistakes, [])
})

test('a line of a log is as long as a person reads, however long its worker makes it', async (context) => {
  const { host, say } = await start(context)
  const client = await mqtt.connectAsync(host.mqttUrl, { reconnectPeriod: 0 })
  context.after(() => client.endAsync(true))
  await client.subscribeAsync('+/plugins/+/hello/log')
  const told = new Promise<Buffer>((resolve) => client.on('message', (_topic, payload) => resolve(payload)))
  const writer = createFrameWriter()
  const line = { at: '2026-01-01T00:00:00.000Z', level: 'info', message: 'x'.repeat(1_000_000) }
  writer.write('log', '', JSON.stringify(line))
  say(ofOperations(writer.take()))
  const payload = await told
  const message = `${'x'.repeat(40)}… (1,000,000 bytes)`.slice(-40)
  const kept = (await host.request('GET', '/api/plugins/hello/logs')).body.logs.at(-1).message as string
  assert.deepEqual(
    [JSON.parse(String(payload)).message, kept.length <= 4096, kept.slice(-40)],
    [kept, true, message],
  )
})

/** A worker may always say that its plugin has ended, or has to go elsewhere: that is no attack on anybody else. */
function endsThePlugin(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false
  if (value.kind === 'overran') {
    const { excess } = value as { excess?: unknown }
    return excess === 'memory' || excess === 'time'
  }
  return value.kind === 'unloaded' || value.kind === 'loadFailed'
}

function shown(messages: unknown[]): string {
  try {
    return JSON.stringify(messages).slice(0, 500)
  } catch {
    return 'something that JSON cannot say'
  }
}

/** Values of a plugin's own have limits of their bytes; texts that are only shown are cut instead. */
const withoutLimit =
  /^\/(data|value|state\/.*|entry\/value|entry\/message|entry\/fields\/traceback|outcome\/value|outcome\/message|failure\/.*)$/

/** The value once for each text in it, with a very long one in its place; and where that is. */
function lengthened(value: unknown, path = ''): { path: string; value: unknown }[] {
  if (typeof value === 'string') return [{ path, value: 'x'.repeat(4_000_000) }]
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  return Object.entries(value).flatMap(([key, member]) =>
    lengthened(member, `${path}/${key}`).map((long) => ({
      path: long.path,
      value: Array.isArray(value)
        ? value.map((item: unknown, index) => (String(index) === key ? long.value : item))
        : { ...value, [key]: long.value },
    })),
  )
}

test('no text that a worker says is without a limit', () => {
  const call = { kind: 'call', number: 1, foreignCaller: '@fixtures/demo' }
  const exposure = {
    component: 'select',
    type: 'select',
    name: 'n',
    features: ['value'],
    writable: ['value'],
  }
  const labels = {
    control: 'c',
    area: 'a',
    unit: 'u',
    icon: 'i',
    deviceClass: 'd',
    stateClass: 's',
    options: ['o'],
  }
  const request = {
    url: 'http://a/',
    method: 'GET',
    headers: [['name', 'value']],
    timeout: 1,
    insecure: false,
  }
  const modbus = { host: 'a', port: 1, unit: 1, address: 1, fc: 3, quantity: 1 }
  const operations = [
    ...Object.values(goodOperations),
    { ...call, call: { service: 'http', request } },
    { ...call, call: { service: 'modbus', request: modbus } },
    { kind: 'setExposure', id: 'e', exposure: { ...exposure, ...labels } },
    { kind: 'subscribeTopic', subscription: 1, filter: 'a/#' },
  ]
  const unlimited = (all: readonly unknown[], parse: (value: unknown) => { ok: boolean }): string[] =>
    all.flatMap((good) => {
      assert.deepEqual(parse(good), { ok: true, value: good })
      return lengthened(good)
        .filter(({ path, value }) => !withoutLimit.test(path) && parse(value).ok)
        .map(({ path }) => `${path} of ${JSON.stringify(good)}`)
    })
  assert.deepEqual(unlimited(operations, parseOperation), [])
  const messages = Object.entries(goodMessages).flatMap(([kind, all]) => (kind === 'batch' ? [] : all))
  assert.deepEqual(unlimited(messages, parseWorkerMessage), [])
})
