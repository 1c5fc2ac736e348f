import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { standardFixtures } from '../helpers/fixture-repository.ts'
import { startTestHost, type TestHost } from '../helpers/test-host.ts'
import { brokenText, bytes, json, mutated, nastyTexts, runs, text, wellFormed } from './arbitraries.ts'
import { exchange, logOfMistakes } from './nasty-host.ts'

/** Takes every value: what a plugin's own setter refuses is its affair. */
const keeper = {
  id: 'keeper',
  lua: `
local plugin = Plugin:new("keeper")
local kept = 1
plugin:onInit(function() plugin:control("level", function() return kept end, function(value) kept = value end) end)`,
  manifest: { exports: { controls: [{ id: 'level', type: 'number' }] } },
}

/** A real host, asked with anything: it answers with a problem that says what to do, and nothing changes. */

async function start(context: TestContext): Promise<{ host: TestHost; mistakes: string[] }> {
  const { logger, mistakes } = logOfMistakes()
  const host = await startTestHost({ logger, plugins: [...standardFixtures, keeper] })
  context.after(() => host.close())
  for (const id of ['hello', 'demo', 'keeper']) {
    const answer = await host.request('POST', '/api/plugins/install', { body: { fullId: `@fixtures/${id}` } })
    assert.equal(answer.status, 201)
  }
  for (const id of ['demo', 'keeper']) {
    assert.equal((await host.request('POST', `/api/plugins/${id}/toggle`)).body.state, 'running')
  }
  return { host, mistakes }
}

/** All that a refused request must leave alone. */
async function stateOf(host: TestHost): Promise<unknown> {
  const plugins = (await host.request('GET', '/api/plugins')).body
  const repositories = (await host.request('GET', '/api/repositories')).body
  const controls = (await host.request('GET', '/api/plugins/keeper/controls')).body
  return { plugins, repositories, controls, seq: host.host.lifecycle.lastSeq }
}

function assertProblem(status: number, type: string, body: string, what: string): void {
  assert.match(type, /^application\/problem\+json/, what)
  const problem = JSON.parse(body) as Record<string, unknown>
  assert.equal(problem.status, status, what)
  assert.equal(typeof problem.code, 'string', what)
  assert.match(String(problem.detail), /\w{2}.*\.$/s, what)
}

/** Codes of 500 and more that are the fault of something else. */
const outside = new Set([502])

const segments = [
  'api',
  'plugins',
  'hello',
  'demo',
  '@fixtures',
  '%40fixtures%2Fhello',
  'toggle',
  'config',
  'check',
  'controls',
  'level',
  'logs',
  'history',
  'doc',
  'machine',
  'machines',
  'catalog',
  'repositories',
  'fixtures',
  'events',
  'inspect',
  'openapi.json',
  'state',
  'schemas',
  'metrics',
  'livez',
  'mqtt',
  'install',
  'assets',
]
const queryNames = [
  'q',
  'state',
  'tag',
  'limit',
  'after',
  'level',
  'file',
  'render',
  'format',
  'repository',
  'purge',
]

const segment = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...segments) },
  { weight: 1, arbitrary: text().map((value) => encodeURIComponent(wellFormed(value))) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('%', '%zz', '%ff', '%00', '..', '.', '', '%2e%2e', ';', '%2f', '@', '*'),
  },
)
const query = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...queryNames), text()), text()), { maxLength: 3 })
  .map((pairs) =>
    pairs.map(([name, value]) => `${escape(name)}=${encodeURIComponent(wellFormed(value))}`).join('&'),
  )
const escape = (name: string): string => encodeURIComponent(wellFormed(name))
const path = fc
  .tuple(
    fc.constantFrom('/api/plugins/', '/api/', '/plugins/', '/'),
    fc.array(segment, { maxLength: 5 }),
    query,
  )
  .map(([prefix, parts, search]) => `${prefix}${parts.join('/')}${search === '' ? '' : `?${search}`}`)
  .filter((target) => target.length < 12_000)

const headerValue = text()
  .map((value) =>
    value
      .replace(/[^\x21-\x7e ]/g, '')
      .trim()
      .slice(0, 2_000),
  )
  .filter((value) => value !== '')
const headers = fc.dictionary(
  fc.constantFrom(
    'if-match',
    'idempotency-key',
    'accept',
    'last-event-id',
    'content-type',
    'origin',
    'range',
    'cookie',
    'authorization',
    'x-forwarded-for',
    'accept-encoding',
  ),
  fc.oneof(headerValue, fc.constantFrom('application/json', '"5"', 'null', 'bytes=0-', 'text/html', '*')),
)

async function ask(
  host: TestHost,
  method: string,
  target: string,
  given: Record<string, string>,
  body: Buffer | undefined,
): Promise<{ status: number; type: string; text: string }> {
  const controller = new AbortController()
  const answer = await fetch(host.url.replace(/\/$/, '') + target, {
    method,
    headers: given,
    redirect: 'manual',
    signal: controller.signal,
    ...(body === undefined || method === 'GET' || method === 'HEAD' ? {} : { body: new Uint8Array(body) }),
  })
  const type = answer.headers.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) {
    controller.abort()
    return { status: answer.status, type, text: '' }
  }
  return { status: answer.status, type, text: await answer.text() }
}

test('any address, query and header is answered, refused with a sentence, and changes nothing', async (context) => {
  const { host, mistakes } = await start(context)
  const before = await stateOf(host)
  // What could rightly change something is asked with bodies below.
  const method = fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'PATCH', 'PROPFIND', 'PUT')
  await fc.assert(
    fc.asyncProperty(method, path, headers, async (verb, target, given) => {
      const what = `${verb} ${target} ${JSON.stringify(given)}`
      const { status, type, text: body } = await ask(host, verb, target, given, undefined)
      assert.ok(status < 500 || outside.has(status), `${what}: ${status} ${body}`)
      // A browser gets the page that says that there is none.
      const isPage = status === 404 && given.accept === 'text/html' && type.startsWith('text/html')
      if (status >= 400 && verb !== 'HEAD' && !isPage) assertProblem(status, type, body, what)
    }),
    { numRuns: runs * 2, examples: [['GET', '/%20', { accept: 'text/html' }]] },
  )
  assert.deepEqual(await stateOf(host), before)
  assert.deepEqual(mistakes, [])
})

const commands: [method: string, path: string, good: unknown][] = [
  [
    'POST',
    '/api/plugins/install',
    { fullId: '@fixtures/needy', id: 'needy', repository: 'fixtures', version: '1.0.0' },
  ],
  ['POST', '/api/plugins/hello/config', { config: { name: 'x', interval: 5, apiKey: '********' } }],
  ['POST', '/api/plugins/hello/config/check', { config: { name: 'x', interval: 5 } }],
  ['POST', '/api/plugins/demo/toggle', { enabled: true }],
  ['POST', '/api/plugins/hello/update', { version: '1.0.0' }],
  ['PUT', '/api/plugins/keeper/controls/level', { value: 5 }],
  ['POST', '/api/repositories', { name: 'fixtures', url: 'nowhere' }],
  ['POST', '/api/plugins/hello/reload', {}],
  ['POST', '/api/plugins/hello/rollback', {}],
]

test('any body of a command is carried out or refused with a sentence; refused, it changes nothing', async (context) => {
  const { host, mistakes } = await start(context)
  const request = fc
    .constantFrom(...commands)
    .chain(([method, target, good]) =>
      fc.tuple(
        fc.constant(method),
        fc.constant(target),
        fc.oneof(
          { weight: 4, arbitrary: brokenText(mutated(good)) },
          { weight: 1, arbitrary: brokenText(json()) },
          { weight: 1, arbitrary: bytes() },
        ),
        fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: headers }),
      ),
    )
  let refused = 0
  await fc.assert(
    fc.asyncProperty(request, async ([method, target, body, given]) => {
      const what = `${method} ${target} ${body.toString('latin1').slice(0, 300)}`
      const before = await stateOf(host)
      const answer = await ask(host, method, target, { 'content-type': 'application/json', ...given }, body)
      assert.ok(answer.status < 500 || outside.has(answer.status), `${what}: ${answer.status} ${answer.text}`)
      if (answer.status < 400) return
      refused += 1
      assertProblem(answer.status, answer.type, answer.text, what)
      assert.deepEqual(await stateOf(host), before, what)
    }),
    { numRuns: runs },
  )
  assert.ok(refused > runs / 4, `${refused} of ${runs} were refused`)
  assert.deepEqual(mistakes, [])
})

const requestHead = (line: string, lines: readonly string[], body: string): Buffer =>
  Buffer.from([line, ...lines, '', body].join('\r\n'), 'latin1')

const rawCorpus: Buffer[] = [
  requestHead('GET / HTTP/1.1', [], ''),
  requestHead('GET / HTTP/9.9', ['Host: 127.0.0.1'], ''),
  requestHead('GET http://evil/ HTTP/1.1', ['Host: evil'], ''),
  requestHead('CONNECT 127.0.0.1:1 HTTP/1.1', ['Host: 127.0.0.1:1'], ''),
  requestHead('POST /api/plugins/demo/toggle HTTP/1.1', ['Host: 127.0.0.1', 'Content-Length: -1'], '{}'),
  requestHead(
    'POST /api/plugins/demo/toggle HTTP/1.1',
    ['Host: 127.0.0.1', 'Content-Length: 2', 'Transfer-Encoding: chunked'],
    '0\r\n\r\nDELETE /plugins/demo HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  ),
  requestHead(
    'POST /api/plugins/demo/toggle HTTP/1.1',
    ['Host: 127.0.0.1', 'Transfer-Encoding: chunked'],
    'zz\r\n',
  ),
  requestHead('POST /x HTTP/1.1', ['Host: 127.0.0.1', 'Expect: 200-maybe', 'Content-Length: 5'], ''),
  requestHead('GET /mqtt HTTP/1.1', ['Host: 127.0.0.1', 'Upgrade: websocket', 'Connection: Upgrade'], ''),
  requestHead(
    'GET /api/inspect HTTP/1.1',
    [
      'Host: 127.0.0.1',
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Version: 99',
      'Sec-WebSocket-Key: =',
    ],
    '\u0081\u00ff\u00ff',
  ),
  requestHead('GET / HTTP/1.1', ['Host: 127.0.0.1', 'Upgrade: h2c, \u0000', 'Connection: Upgrade'], ''),
  requestHead('GET / HTTP/1.1', [`Host: ${'a'.repeat(20_000)}`], ''),
  requestHead(
    'GET / HTTP/1.1',
    Array.from({ length: 3_000 }, (_, index) => `X-${index}: y`),
    '',
  ),
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]),
  Buffer.from('\r\n'.repeat(500)),
]

test('any bytes on the connection are answered or cut off, and the host goes on', async (context) => {
  const { host, mistakes } = await start(context)
  const before = await stateOf(host)
  const { host: name } = new URL(host.url)
  const line = fc.oneof(
    text(),
    fc
      .tuple(
        fc.constantFrom('GET', 'POST', 'DELETE', 'get', '', 'A B'),
        path,
        fc.constantFrom(' HTTP/1.1', ' HTTP/1.0', ' ICE/1', ''),
      )
      .map(
        ([method, target, version]) =>
          `${method === 'DELETE' || method === 'POST' ? 'PATCH' : method} ${target}${version}`,
      ),
  )
  const head = fc
    .tuple(
      line,
      fc.array(
        fc.oneof(
          text(),
          fc.constant(`Host: ${name}`),
          fc.constantFrom(
            'Upgrade: websocket',
            'Connection: Upgrade',
            'Content-Length: 5',
            'Transfer-Encoding: chunked',
            'Expect: 100-continue',
          ),
        ),
        { maxLength: 6 },
      ),
      text(),
    )
    .map(([first, lines, body]) => requestHead(first, lines, body))
  const chunks = fc.oneof(
    fc.constantFrom(...rawCorpus).map((corpus) => [corpus]),
    fc.array(bytes(), { minLength: 1, maxLength: 4 }),
    head.map((whole) => [whole]),
    fc.tuple(head, fc.nat()).map(([whole, at]) => {
      const place = at % (whole.length + 1)
      return [whole.subarray(0, place), whole.subarray(place)]
    }),
  )
  await fc.assert(
    fc.asyncProperty(chunks, async (given) => {
      const answer = await exchange(host.url, given)
      const what = Buffer.concat([...given])
        .toString('latin1')
        .slice(0, 300)
      assert.doesNotMatch(answer, /^HTTP\/1\.1 500/, what)
    }),
    { numRuns: runs },
  )
  for (const corpus of rawCorpus) await exchange(host.url, [corpus])
  assert.equal((await host.request('GET', '/livez')).status, 200)
  assert.deepEqual(await stateOf(host), before)
  assert.deepEqual(mistakes, [])
})

test('every nasty text in every place of a path is an answer', async (context) => {
  const { host, mistakes } = await start(context)
  const before = await stateOf(host)
  const shapes = [
    (part: string) => ['GET', `/api/plugins/${part}`],
    (part: string) => ['POST', `/api/plugins/${part}/reload`],
    (part: string) => ['DELETE', `/api/plugins/x${part}`],
    (part: string) => ['GET', `/api/plugins/hello/doc?file=${part}`],
    (part: string) => ['GET', `/api/plugins/hello/logs?limit=${part}`],
    (part: string) => ['GET', `/api/history?after=${part}`],
    (part: string) => ['GET', `/api/history/${part}/state`],
    (part: string) => ['GET', `/api/machines/${part}`],
    (part: string) => ['DELETE', `/api/repositories/${part}`],
    (part: string) => ['GET', `/${part}`],
  ] as ((part: string) => [string, string])[]
  for (const nasty of nastyTexts.filter(
    (each) => each.length < 1_000 && each !== 'hello' && each !== '@fixtures/hello',
  )) {
    if (nasty === 'demo') continue
    for (const shape of shapes) {
      const [method, target] = shape(encodeURIComponent(wellFormed(nasty)))
      const answer = await ask(host, method, target, {}, undefined)
      assert.ok(answer.status < 500, `${method} ${target}: ${answer.status} ${answer.text}`)
      if (answer.status >= 400) assertProblem(answer.status, answer.type, answer.text, `${method} ${target}`)
    }
  }
  assert.deepEqual(await stateOf(host), before)
  assert.deepEqual(mistakes, [])
})
