import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { serializeJson } from '../../src/base/text/serialized-json.ts'
import { createStartGate, type StartGate } from '../../src/http/requests/start-gate.ts'
import type { Announcement } from '../../src/lifecycle/lifecycle.ts'
import type { JournalEventView } from '../../src/schema/journal/journal-event.ts'
import { collectGarbage } from '../helpers/collect-garbage.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { startHostFor } from '../helpers/test-host.ts'
import { readEvents, type ServerSentEvent } from './clients.ts'
import { startHttp } from './http-over.ts'
import { logLine, streamOf } from './streams/stage.ts'

const last = (event: ServerSentEvent) => event.data?.type === 'PluginUninstalled'
const lifecycleOnly = (events: ServerSentEvent[]) => events.filter(({ event }) => event === 'lifecycle')

test('the stream tells what happens: lifecycle with its number, log, event, object, sensor and control', async (context) => {
  const host = await startHostFor(context)
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/demo' } })
  const before = (await host.request('GET', '/api/history')).body.events as JournalEventView[]
  const reader = await readEvents(`${host.url}/api/events`)
  assert.deepEqual(
    [reader.status, reader.headers.get('content-type'), reader.headers.get('cache-control')],
    [200, 'text/event-stream; charset=utf-8', 'no-store'],
  )
  assert.deepEqual(await reader.next(), { retry: '2000', id: String(before.at(-1)?.seq) })
  await host.request('POST', '/api/plugins/demo/toggle')
  await host.request('PUT', '/api/plugins/demo/controls/level', { body: { value: 7 } })
  await host.request('DELETE', '/api/plugins/demo')
  const events = await reader.until(last)
  const history = (await host.request('GET', '/api/history')).body.events as JournalEventView[]
  const enabled = history.findIndex(({ type }) => type === 'PluginEnabled')
  assert.deepEqual(
    lifecycleOnly(events),
    history.slice(enabled).map((event) => ({ id: String(event.seq), event: 'lifecycle', data: event })),
  )
  const plugin = '@fixtures/demo'
  const others = events.filter(({ event }) => event !== 'lifecycle' && event !== undefined)
  const expected: ServerSentEvent[] = [
    {
      event: 'object',
      data: { plugin, path: 'room.lamp', value: { on: false, level: 7 }, removed: false },
    },
    { event: 'sensor', data: { plugin, id: 'double', value: 14, removed: false } },
    { event: 'control', data: { plugin, id: 'level', value: 7, removed: false } },
    { event: 'event', data: { plugin, name: 'demo:level', data: { level: 7 } } },
    { event: 'object', data: { plugin, path: 'room.lamp', value: null, removed: true } },
  ]
  for (const event of expected) {
    assert.ok(
      others.some((other) => JSON.stringify(other) === JSON.stringify(event)),
      `${JSON.stringify(event)} is in ${JSON.stringify(others)}`,
    )
  }
  const log = others.find(({ event, data }) => event === 'log' && data.message === 'cleaned up')
  assert.deepEqual(
    { ...log?.data, at: undefined },
    { plugin, level: 'info', message: 'cleaned up', at: undefined },
  )
  await reader.close()
})

test('the stream tells of the end of the host, to the last event', async (context) => {
  const host = await startHostFor(context)
  const reader = await readEvents(`${host.url}/api/events`)
  await reader.next()
  await host.host.close()
  const events = await reader.until(({ data }) => data?.type === 'HostStopped')
  assert.deepEqual(
    lifecycleOnly(events).map(({ data }) => data.type),
    ['HostStopping', 'HostStopped'],
  )
  await reader.close()
})

test('a client that comes back gets what it missed and what follows, each event once, in order', async (context) => {
  const host = await startHostFor(context)
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
  // Commands go on while the client connects.
  const commands = (async () => {
    for (let round = 0; round < 3; round += 1) {
      await host.request('POST', '/api/plugins/hello/config', { body: { config: { name: `${round}` } } })
    }
    await host.request('DELETE', '/api/plugins/hello')
  })()
  const readers = await Promise.all([
    readEvents(`${host.url}/api/events`, { 'last-event-id': '0' }),
    readEvents(`${host.url}/api/events?lastEventId=2`),
    // What the browser says by itself is newer than what is in the address.
    readEvents(`${host.url}/api/events?lastEventId=0`, { 'last-event-id': '2' }),
    readEvents(`${host.url}/api/events?lastEventId=0&plugin=hello`),
  ])
  const streams = await Promise.all(readers.map(async (reader) => lifecycleOnly(await reader.until(last))))
  await commands
  const history = (await host.request('GET', '/api/history')).body.events as JournalEventView[]
  const numbers = (events: JournalEventView[]) => events.map(({ seq }) => String(seq))
  assert.deepEqual(
    streams.map((events) => events.map(({ id }) => id)),
    [
      numbers(history),
      numbers(history.slice(2)),
      numbers(history.slice(2)),
      numbers(history.filter(({ plugin }) => plugin === '@fixtures/hello')),
    ],
  )
  assert.deepEqual(
    streams[0]?.map(({ data }) => [data.seq, data.type, data.plugin, data.revision, data.state]),
    history.map(({ seq, type, plugin, revision, state }) => [seq, type, plugin, revision, state]),
  )
  await Promise.all(readers.map((reader) => reader.close()))
})

function heapAfterCollection(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

test('an event that was read from the journal is not sent again when it is announced', async () => {
  const { http, append, announce } = await streamOf()
  append()
  const late = append()
  const reader = await readEvents(`${http.url}/api/events?lastEventId=0`)
  const missed = await reader.until(({ id }) => id === '2')
  announce({ kind: 'lifecycle', event: late })
  const next = append()
  for (const event of [next, next, append()]) announce({ kind: 'lifecycle', event })
  const following = await reader.until(({ id }) => id === '4')
  assert.deepEqual(
    [...missed, ...following].map(({ id }) => id),
    [undefined, '1', '2', '3', '4'],
  )
  await http.close()
})

test('a client that breaks off before the first event resumes from where it came', async (t) => {
  const { http, append } = await streamOf()
  t.after(() => http.close())
  for (const address of ['/api/events', '/api/events?lastEventId=999']) {
    const { seq } = append()
    const reader = await readEvents(`${http.url}${address}`)
    const { id = '' } = (await reader.next()) ?? {}
    await reader.close()
    assert.equal(id, String(seq))
    const missed = append()
    const again = await readEvents(`${http.url}/api/events`, { 'last-event-id': id })
    const [first] = lifecycleOnly(await again.until(({ event }) => event === 'lifecycle'))
    assert.equal(first?.id, String(missed.seq))
    await again.close()
  }
})

test('a number from another journal does not silence the stream', async () => {
  const { http, append, announce } = await streamOf()
  append()
  const reader = await readEvents(`${http.url}/api/events?lastEventId=999`)
  assert.deepEqual(await reader.next(), { retry: '2000', id: '1' })
  announce({ kind: 'lifecycle', event: append() })
  assert.equal((await reader.next())?.id, '2')
  await http.close()
})

test('a long history is sent page by page, and what happens meanwhile behind it', async () => {
  const { http, append, announce } = await streamOf({
    asked(after) {
      if (after === 500) announce({ kind: 'lifecycle', event: append() })
    },
  })
  for (let count = 0; count < 1_234; count += 1) append()
  const reader = await readEvents(`${http.url}/api/events`, { 'last-event-id': '0' })
  const events = lifecycleOnly(await reader.until(({ id }) => id === '1235'))
  assert.deepEqual(
    events.map(({ id }) => Number(id)),
    Array.from({ length: 1_235 }, (_, index) => index + 1),
  )
  await http.close()
})

test('what a client has missed and does not read is not in the heap', async () => {
  const { http, append } = await streamOf()
  const text = 'x'.repeat(1024 * 1024)
  for (let count = 0; count < 32; count += 1) Object.assign(append(), { data: { text } })
  const before = heapAfterCollection()
  const { port, host } = new URL(http.url)
  const slow = connect(Number(port), '127.0.0.1')
  slow.write(`GET /api/events HTTP/1.1\r\nHost: ${host}\r\nLast-Event-ID: 0\r\n\r\n`)
  await once(slow, 'readable')
  const kept = heapAfterCollection() - before
  slow.destroy()
  await http.close()
  assert.ok(kept < 4 * text.length, `${kept} bytes`)
})

test('a stream of one plugin tells of no other', async () => {
  const { http, append, announce } = await streamOf()
  const reader = await readEvents(`${http.url}/api/events?plugin=@a/b`)
  await reader.next()
  announce(logLine('@a/c', 'other'))
  announce({ kind: 'lifecycle', event: append('@a/c') })
  announce({ kind: 'lifecycle', event: append('@a/b') })
  announce(logLine('@a/b', 'own'))
  const events = [await reader.next(), await reader.next()]
  assert.deepEqual(
    events.map((event) => [event?.event, event?.data.plugin]),
    [
      ['lifecycle', '@a/b'],
      ['log', '@a/b'],
    ],
  )
  await http.close()
})

test('what is announced is read once for all who are told of it, and not at all for nobody', async () => {
  const { http, announce } = await streamOf()
  let read = 0
  const object = (plugin: string, path: string): Announcement => {
    const value = serializeJson({ on: true })
    const counted = (): Json => {
      read += 1
      return value.value()
    }
    return { kind: 'object', plugin, path, value: { bytes: value.bytes, value: counted } }
  }
  const one = await readEvents(`${http.url}/api/events?plugin=%40a%2Fb`)
  const other = await readEvents(`${http.url}/api/events?plugin=%40c%2Fd`)
  announce(object('@e/f', 'unheard'))
  assert.equal(read, 0)
  const all = await readEvents(`${http.url}/api/events`)
  announce(object('@a/b', 'lamp'))
  announce(object('@c/d', 'last'))
  const paths = async (reader: typeof all, last: string): Promise<unknown> =>
    (await reader.until(({ data }) => data?.path === last)).flatMap(({ data }) => data?.path ?? [])
  assert.deepEqual(await Promise.all([paths(all, 'last'), paths(one, 'lamp'), paths(other, 'last')]), [
    ['lamp', 'last'],
    ['lamp'],
    ['last'],
  ])
  assert.equal(read, 2)
  await http.close()
})

test('a line break in a message does not break the stream', async () => {
  const { http, announce } = await streamOf()
  const reader = await readEvents(`${http.url}/api/events`)
  await reader.next()
  announce(logLine('@a/b', 'one\n\nevent: lifecycle\ndata: {}\r\u2028'))
  assert.equal((await reader.next())?.data.message, 'one\n\nevent: lifecycle\ndata: {}\r\u2028')
  await http.close()
})

test('a quiet stream is kept alive every fifteen seconds, and its timer goes with the last client', async () => {
  const { http, clock } = await streamOf()
  const reader = await readEvents(`${http.url}/api/events`)
  await reader.next()
  clock.advance(14_999)
  clock.advance(1)
  assert.deepEqual(await reader.next(), { comment: 'still here' })
  clock.advance(15_000)
  assert.deepEqual(await reader.next(), { comment: 'still here' })
  await http.close()
  assert.equal(await reader.next(), undefined)
  assert.equal(clock.waiting, 0)
})

test('who asks for it hears by an event that a quiet stream is still there', async () => {
  const { http, clock } = await streamOf()
  const reader = await readEvents(`${http.url}/api/events?beats=true`)
  await reader.next()
  clock.advance(15_000)
  assert.deepEqual(await reader.next(), { event: 'beat', data: {} })
  await http.close()
})

test('an event that is larger than what may wait for a client is delivered, and what follows it', async () => {
  const { http, announce } = await streamOf()
  const reader = await readEvents(`${http.url}/api/events`)
  await reader.next()
  for (const size of [8_000_000, 5_000_000]) {
    // At once: nobody can have read the first when the second is announced.
    for (const length of [size, 3]) announce(logLine('@a/b', 'x'.repeat(length)))
    for (const length of [size, 3]) assert.equal((await reader.next())?.data.message.length, length)
  }
  await reader.close()
  await http.close()
})

test('a client that does not read is cut off, and the others go on', async () => {
  const { http, announce, listeners } = await streamOf()
  // Metrics and the inspector listen as well.
  const others = listeners.size
  const { port, host } = new URL(http.url)
  const slow = connect(Number(port), '127.0.0.1')
  slow.write(`GET /api/events HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  await once(slow, 'readable')
  const reader = await readEvents(`${http.url}/api/events`)
  await reader.next()
  const message = 'x'.repeat(256 * 1024)
  let cut = false
  slow.on('close', () => (cut = true))
  slow.on('error', () => (cut = true))
  // More than the kernel's buffers of both ends and the limit hold together; the other client keeps up.
  for (let count = 0; count < 100; count += 1) {
    announce(logLine('@a/b', message))
    assert.equal((await reader.next())?.data.message.length, message.length)
  }
  slow.resume()
  if (!cut) await once(slow, 'close')
  announce(logLine('@a/b', 'last'))
  assert.equal((await reader.next())?.data.message, 'last')
  assert.equal(listeners.size, others)
  await http.close()
  assert.equal(listeners.size, 0)
})

test('whoever has left before the host has started is no client of the stream: nobody would hear it leave', async (context) => {
  const gate = createStartGate()
  let waiting = 0
  const counting: StartGate = {
    ...gate,
    pass(method) {
      waiting += 1
      return gate.pass(method)
    },
  }
  const clock = createManualClock()
  const http = await startHttp({}, { gate: counting, clock })
  context.after(() => http.close())
  const { hostname, port, host } = new URL(http.url)
  const socket = connect(Number(port), hostname)
  socket.end(`GET /api/events HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  socket.resume()
  await once(socket, 'close')
  assert.equal(waiting, 1)
  gate.open()
  await fetch(`${http.url}/livez`)
  assert.equal(http.listeners, 0)
})
