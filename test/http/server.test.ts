import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Plugin } from '../../src/schema/plugin/plugin.ts'
import { createStartGate } from '../../src/http/requests/start-gate.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { exchange, parseAnswer } from './clients.ts'
import { startHttp } from './http-over.ts'

let host: TestHost
before(async () => {
  host = await startTestHost()
})
after(() => host.close())

const hostLine = () => `Host: ${new URL(host.url).host}\r\n`
const post = (headers: string) => `POST /api/plugins/install HTTP/1.1\r\n${hostLine()}${headers}\r\n`
const json = 'Content-Type: application/json\r\n'
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

test('bytes that are no request get a proper answer, and the server goes on', async () => {
  const cases: [string, number][] = [
    ['hello\r\n\r\n', 400],
    ['GET /api/plugins HTTP/1.1\r\n\r\n', 400],
    [`GET /api/plugins HTTP/1.1\r\n${hostLine()}a b: c\r\n\r\n`, 400],
    [`GET /a b HTTP/1.1\r\n${hostLine()}\r\n`, 400],
    [`GET /api/plugins HTTP/9.9\r\n${hostLine()}\r\n`, 400],
    [`GET /api/plugins HTTP/1.1\r\n${hostLine()}X: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${hostLine()}\r\n`, 431],
    [post(`${json}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n`), 400],
    [post(`${json}Content-Length: -5\r\n`), 400],
  ]
  for (const [text, status] of cases) {
    const { status: answered, headers } = parseAnswer(await exchange(host.url, text))
    assert.deepEqual([answered, headers.connection], [status, 'close'], text.slice(0, 60))
  }
  assert.equal((await host.request('GET', '/livez')).status, 200)
})

test('a method that HTTP does not have is answered as one that is not known', async () => {
  for (const line of ['BREW /api/plugins HTTP/1.1', 'get / HTTP/1.1', `X-${'y'.repeat(100)} * HTTP/1.0`]) {
    const { status, headers, body } = parseAnswer(await exchange(host.url, `${line}\r\n${hostLine()}\r\n`))
    assert.deepEqual([status, body.status, body.code], [501, 501, 'method_not_allowed'], line)
    assert.equal(headers.connection, 'close')
  }
})

test('a request line with an unusual target is answered', async () => {
  const answers = await Promise.all(
    [
      'GET http://evil.example/api/plugins',
      'OPTIONS *',
      'GET //evil.example/api/plugins',
      'GET /api/../api/plugins',
    ].map(
      async (line) =>
        parseAnswer(await exchange(host.url, `${line} HTTP/1.1\r\n${hostLine()}Connection: close\r\n\r\n`))
          .status,
    ),
  )
  assert.deepEqual(answers, [400, 204, 404, 404])
})

test('a body over the limit is refused in every way that it can be sent', async () => {
  const megabyte = 'x'.repeat(1024 * 1024)
  const endless = Array.from({ length: 3 }, () => chunk(megabyte))
  const zipped = gzipSync(JSON.stringify({ fullId: 'x'.repeat(8 * 1024 * 1024) }))
  const cases: [string, (string | Buffer)[]][] = [
    ['announced', [post(`${json}Content-Length: 99999999\r\n`)]],
    [
      'announced and sent',
      [post(`${json}Content-Length: ${3 * 1024 * 1024}\r\n`), megabyte, megabyte, megabyte],
    ],
    ['in chunks that never end', [post(`${json}Transfer-Encoding: chunked\r\n`), ...endless]],
    [
      'compressed',
      [
        post(`${json}Content-Encoding: gzip\r\nContent-Length: ${zipped.length}\r\nConnection: close\r\n`),
        zipped,
      ],
    ],
  ]
  for (const [name, parts] of cases) {
    const { status, headers, body } = parseAnswer(await exchange(host.url, ...parts))
    assert.deepEqual([status, body.code, headers.connection], [413, 'body_too_large', 'close'], name)
  }
})

test('a body of the limit is read, plain, in chunks and compressed', async () => {
  const empty = JSON.stringify({ fullId: '@fixtures/none', more: '' })
  const full = JSON.stringify({ fullId: '@fixtures/none', more: 'x'.repeat(1024 * 1024 - empty.length) })
  assert.equal(full.length, 1024 * 1024)
  const zipped = gzipSync(full)
  const cases: (string | Buffer)[][] = [
    [post(`${json}Content-Length: ${full.length}\r\nConnection: close\r\n`), full],
    [post(`${json}Transfer-Encoding: chunked\r\nConnection: close\r\n`), chunk(full), '0\r\n\r\n'],
    [
      post(`${json}Content-Encoding: gzip\r\nContent-Length: ${zipped.length}\r\nConnection: close\r\n`),
      zipped,
    ],
  ]
  for (const parts of cases) {
    const { status, body } = parseAnswer(await exchange(host.url, ...parts))
    assert.deepEqual([status, body.code], [404, 'plugin_not_in_repository'])
  }
})

test('a body that is not sent as HTTP wants it is refused in words', async () => {
  const whole = chunk('{"fullId":"@fixtures/none"}')
  for (const bytes of ['zz\r\n', `${whole}zz\r\n`, `${whole.slice(0, -2)}zz\r\n`]) {
    const head = post(`${json}Transfer-Encoding: chunked\r\n`)
    const { status, headers, body } = parseAnswer(await exchange(host.url, head + bytes))
    assert.deepEqual([status, body.code, headers.connection], [400, 'body_invalid', 'close'], bytes)
  }
  const { events } = (await host.request('GET', '/api/history')).body
  assert.deepEqual(
    events.filter(({ plugin }: { plugin: string | null }) => plugin !== null),
    [],
  )
})

test('a body must be UTF-8 JSON, and is told where it stops being that', async () => {
  const cases: [Buffer, string][] = [
    [Buffer.from('{"fullId":\n  nope}'), 'The body is not valid JSON (line 2, column 3).'],
    [Buffer.from('{"fullId":"@fixtures/'), 'The body is not valid JSON (line 1, column 22).'],
    [Buffer.from([0x22, 0xff, 0x22]), 'The body is not UTF-8 text.'],
    [Buffer.from('<!doctype html>'), 'The body is a web page, not JSON.'],
  ]
  for (const [body, detail] of cases) {
    const head = post(`${json}Content-Length: ${body.length}\r\nConnection: close\r\n`)
    const answer = parseAnswer(await exchange(host.url, head, body))
    assert.deepEqual([answer.status, answer.body.detail], [400, detail])
  }
})

test('an idle connection is kept for longer than proxies keep theirs, two minutes the longest', async () => {
  const { headers } = await fetch(`${host.url}/livez`, { headers: { connection: 'keep-alive' } })
  const [, seconds] = /timeout=(\d+)/.exec(headers.get('keep-alive') ?? '') ?? []
  assert.ok(Number(seconds) > 120, headers.get('keep-alive') ?? 'none')
})

test('a port that is taken is told in one sentence that names the setting', async () => {
  const port = Number(new URL(host.url).port)
  await assert.rejects(startHttp({}, { port }), {
    message: `Port ${port} on 127.0.0.1 is in use by another program: set HOST_HTTP_PORT to a free port (0 takes any).`,
  })
  await assert.rejects(startHttp({}, { bind: '192.0.2.1' }), {
    message: '192.0.2.1 is not an address of this machine: correct HOST_HTTP_BIND.',
  })
})

test('closing ends idle connections at once and lets an answer under way finish', async (context) => {
  let finish: () => void = () => undefined
  let asked: () => void = () => undefined
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const http = await startHttp({
    reload: () => {
      asked()
      return new Promise<Plugin>((resolve) => {
        finish = () => resolve({ revision: 3 } as Plugin)
      })
    },
  })
  context.after(() => {
    finish()
    return http.close()
  })
  const idle = connect(Number(new URL(http.url).port), '127.0.0.1')
  context.after(() => void idle.destroy())
  await once(idle, 'connect')
  const busy = fetch(`${http.url}/api/plugins/@a/b/reload`, { method: 'POST' })
  await isAsked
  const closed = http.close()
  await once(idle, 'close')
  await assert.rejects(fetch(`${http.url}/livez`))
  finish()
  const answer = await busy
  assert.deepEqual([answer.status, await answer.json()], [200, { revision: 3 }])
  await closed
  await http.close()
})

test('closing cuts an answer that does not come in the grace time', async (context) => {
  const clock = createManualClock()
  let asked: () => void = () => undefined
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const http = await startHttp(
    {
      reload: () => {
        asked()
        return new Promise<Plugin>(() => undefined)
      },
    },
    { clock },
  )
  context.after(() => {
    const closed = http.close()
    clock.advance(2_000)
    return closed
  })
  const busy = fetch(`${http.url}/api/plugins/@a/b/reload`, { method: 'POST' })
  const cut = assert.rejects(busy)
  await isAsked
  const closed = http.close()
  clock.advance(2_000)
  await Promise.all([closed, cut])
  assert.equal(clock.waiting, 0)
})

test('requests wait until the state is there, health does not, and closing answers those who wait', async (context) => {
  const gate = createStartGate()
  const readiness = () => ({ ready: false, reasons: ['starting'] })
  const http = await startHttp({ list: () => [] }, { gate, readiness })
  context.after(() => http.close())
  const waiting = fetch(`${http.url}/api/plugins`)
  const health = await Promise.all([fetch(`${http.url}/livez`), fetch(`${http.url}/readyz`)])
  assert.deepEqual(await Promise.all(health.map(async (answer) => [answer.status, await answer.json()])), [
    [200, { status: 'ok', version: '1.2.3' }],
    [503, { ready: false, reasons: ['starting'], safeMode: null }],
  ])
  gate.open()
  const answer = await waiting
  assert.deepEqual([answer.status, await answer.json()], [200, { plugins: [] }])
  await http.close()

  const never = await startHttp({}, { gate: createStartGate() })
  context.after(() => never.close())
  const { port, host: own } = new URL(never.url)
  const socket = connect(Number(port), '127.0.0.1')
  context.after(() => void socket.destroy())
  let answers = ''
  socket.on('data', (data) => (answers += data.toString()))
  // In one piece, so that the server has the second when it answers the first.
  socket.write(
    ['/livez', '/api/plugins'].map((path) => `GET ${path} HTTP/1.1\r\nHost: ${own}\r\n\r\n`).join(''),
  )
  await once(socket, 'data')
  const ended = once(socket, 'close')
  await never.close()
  await ended
  assert.deepEqual(
    [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ['200', '503'],
  )
})
