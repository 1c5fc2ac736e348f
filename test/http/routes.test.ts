import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { noResources } from '../../src/schema/plugin/plugin.ts'
import { defaultPluginLimits, shownLimits } from '../../src/schema/plugin/plugin-limits.ts'
import { standardFixtures } from '../helpers/fixture-repository.ts'
import { hostVersion, installAndStart, startTestHost, type TestHost } from '../helpers/test-host.ts'

/** Every address of the API with what it answers when all is well, on one host, in the order of a life. */

let host: TestHost
before(async () => {
  host = await startTestHost()
})
after(() => host.close())

const hello = {
  id: '@fixtures/hello',
  shortId: 'hello',
  namespace: 'fixtures',
  name: 'Fixture hello',
  version: '1.0.0',
  description: 'Says hello',
  author: null,
  homepage: null,
  license: null,
  tags: ['greeting'],
  repository: 'fixtures',
  enabled: false,
  state: 'installed',
  error: null,
  config: {},
  exports: {},
  docs: [
    { title: 'Read me', file: 'README.md' },
    { title: 'Page', file: 'docs/page.html' },
  ],
  dependencies: [],
  permissions: null,
  warnings: [],
  environment: { read: [], refused: [] },
  revision: 2,
  resources: noResources,
  limits: { effective: shownLimits(defaultPluginLimits), set: {} },
  limitsReached: [],
  host: null,
  epoch: null,
  placement: {},
  crashes: 0,
  restart: null,
  trial: null,
  integrity: { intact: true, changed: [] },
}

/** Without what the clock decides, and without the long normal form of the fields. */
function timeless({ installedAt, updatedAt, fields, ...plugin }: Record<string, unknown>) {
  assert.match(String(installedAt), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  assert.match(String(updatedAt), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  assert.ok(Array.isArray(fields))
  return plugin
}

test('the catalog lists what the repositories offer, by text and by repository', async () => {
  const offer = {
    fullId: '@fixtures/hello',
    name: 'Fixture hello',
    version: '1.0.0',
    description: null,
    author: null,
    tags: ['greeting'],
    repository: 'fixtures',
    namespaceHeldBy: null,
    installedVersion: null,
    updateAvailable: false,
    compatible: true,
    permissions: null,
  }
  const found = await host.request('GET', '/api/catalog?q=GREET&repository=fixtures')
  assert.deepEqual([found.status, found.body], [200, { plugins: [offer] }])
  const all = await host.request('GET', '/api/catalog')
  assert.equal(all.body.plugins.length, standardFixtures.length)
})

test('installing answers 201 with the plugin, its address and its revision', async () => {
  const body = {
    fullId: '@fixtures/hello',
    id: 'hello',
    repository: 'fixtures',
    version: null,
    name: 'Hello',
  }
  const answer = await host.request('POST', '/api/plugins/install', { body })
  assert.deepEqual([answer.status, timeless(answer.body)], [201, hello])
  const { headers } = answer
  assert.deepEqual(
    ['location', 'etag', 'content-type', 'cache-control', 'x-content-type-options'].map((name) =>
      headers.get(name),
    ),
    ['/api/plugins/%40fixtures%2Fhello', '"2"', 'application/json; charset=utf-8', 'no-store', 'nosniff'],
  )
  const located = await host.request('GET', headers.get('location') ?? '')
  assert.deepEqual(located.body, answer.body)
})

test('a plugin answers to its full id in two segments, percent-encoded, and to its short id', async () => {
  for (const id of [
    '@fixtures/hello',
    '%40fixtures%2Fhello',
    '%40fixtures/hello',
    'hello',
    '@fixtures%2fhello',
  ]) {
    const answer = await host.request('GET', `/api/plugins/${id}`)
    assert.deepEqual(
      [answer.status, timeless(answer.body), answer.headers.get('etag')],
      [200, hello, '"2"'],
      id,
    )
  }
  const machines = await Promise.all(
    ['@fixtures/hello', '%40fixtures%2Fhello', 'hello'].map((id) =>
      host.request('GET', `/api/plugins/${id}/machine`),
    ),
  )
  for (const { status, body } of machines) {
    assert.deepEqual([status, body.machine, body.state], [200, 'plugin-lifecycle', 'installed'])
    assert.ok(body.nextEvents.includes('PluginEnabled'))
  }
})

test('the list of plugins can be narrowed by state, tag and text', async () => {
  const found = async (query: string): Promise<string[]> => {
    const { status, body } = await host.request('GET', `/api/plugins${query}`)
    assert.equal(status, 200)
    return body.plugins.map(({ id }: { id: string }) => id)
  }
  const queries = [
    '',
    '?state=installed',
    '?state=running',
    '?tag=greeting',
    '?tag=greet',
    '?tag=&q=',
    '?q=SAYS',
    '?q=nothing',
  ]
  assert.deepEqual(await Promise.all(queries.map(found)), [
    ['@fixtures/hello'],
    ['@fixtures/hello'],
    [],
    ['@fixtures/hello'],
    [],
    ['@fixtures/hello'],
    ['@fixtures/hello'],
    [],
  ])
})

test('toggling flips without a body and sets with one, behind both prefixes', async () => {
  const steps: [string, unknown, string][] = [
    ['/api/plugins/@fixtures/hello/toggle', undefined, 'running'],
    ['/plugins/@fixtures/hello/toggle', { enabled: true }, 'running'],
    ['/plugins/hello/toggle', {}, 'unloaded'],
    ['/plugins/%40fixtures%2Fhello/toggle', { enabled: false }, 'unloaded'],
    ['/api/plugins/hello/toggle', { enabled: true }, 'running'],
  ]
  for (const [path, body, state] of steps) {
    const answer = await host.request('POST', path, body === undefined ? {} : { body })
    assert.deepEqual(
      [answer.status, answer.body.state, answer.body.enabled, answer.headers.get('etag')],
      [200, state, state === 'running', `"${answer.body.revision}"`],
      path,
    )
  }
})

test('a configuration is checked without saving, then saved, behind both prefixes', async () => {
  const check = await host.request('POST', '/api/plugins/@fixtures/hello/config/check', {
    body: { config: { interval: 0, apiKey: 'abc' } },
  })
  assert.equal(check.status, 200)
  assert.deepEqual(
    [check.body.valid, check.body.errors.map(({ path }: { path: string }) => path), check.body.effective],
    [false, ['/config/interval'], { name: 'world', interval: 0, apiKey: '********' }],
  )
  const saved = await host.request('POST', '/api/plugins/@fixtures/hello/config', {
    body: { config: { name: 'Anna', apiKey: 'abc' } },
  })
  assert.deepEqual(
    [saved.status, saved.body.config, saved.body.state],
    [200, { name: 'Anna', apiKey: '********' }, 'running'],
  )
  const again = await host.request('POST', '/plugins/hello/config', { body: { config: { name: 'Berta' } } })
  assert.deepEqual([again.status, again.body.config], [200, { name: 'Berta' }])
})

test("a plugin's log is read by level and number of lines", async () => {
  const all = await host.request('GET', '/api/plugins/hello/logs?level=info')
  const messages = all.body.logs.map(({ message }: { message: string }) => message)
  assert.deepEqual([all.status, messages.slice(-2)], [200, ['hello Anna', 'hello Berta']])
  const one = await host.request('GET', '/api/plugins/hello/logs?limit=1')
  assert.deepEqual(one.body.logs, all.body.logs.slice(-1))
  assert.deepEqual((await host.request('GET', '/api/plugins/hello/logs?limit=0')).body, { logs: [] })
  const errors = await host.request('GET', '/api/plugins/@fixtures/hello/logs?level=error')
  assert.deepEqual(errors.body, { logs: [] })
})

test('reload, update and rollback answer the plugin', async () => {
  const reloaded = await host.request('POST', '/api/plugins/@fixtures/hello/reload')
  assert.deepEqual([reloaded.status, reloaded.body.state], [200, 'running'])
  await host.publish(
    standardFixtures.map((plugin) => (plugin.id === 'hello' ? { ...plugin, version: '1.1.0' } : plugin)),
  )
  const updated = await host.request('POST', '/api/plugins/@fixtures/hello/update', {
    body: { version: '1.1.0' },
  })
  assert.deepEqual([updated.status, updated.body.version, updated.body.state], [200, '1.1.0', 'running'])
  const back = await host.request('POST', '/api/plugins/@fixtures/hello/rollback', { body: {} })
  assert.deepEqual([back.status, back.body.version, back.body.state], [200, '1.0.0', 'running'])
})

test('documents come with their own type, pages as text, and can do nothing in a browser', async () => {
  const policy =
    "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
  const cases: [string, string, string][] = [
    ['README.md', 'text/markdown; charset=utf-8', '# Hello\n'],
    ['docs%2Fpage.html', 'text/plain; charset=utf-8', '<script>alert(1)</script>'],
  ]
  for (const [file, type, text] of cases) {
    const answer = await host.request('GET', `/api/plugins/@fixtures/hello/doc?file=${file}`)
    assert.deepEqual(
      [
        answer.status,
        answer.body,
        answer.headers.get('content-type'),
        answer.headers.get('x-content-type-options'),
        answer.headers.get('content-security-policy'),
      ],
      [200, text, type, 'nosniff', policy],
    )
  }
  const rendered = await Promise.all(
    ['README.md', 'docs/page.html'].map((file) =>
      host.request('GET', `/api/plugins/hello/doc?file=${file}&render=html`),
    ),
  )
  assert.deepEqual(
    rendered.map(({ status, body, headers }) => [
      status,
      body,
      headers.get('content-type'),
      headers.get('content-security-policy'),
    ]),
    [
      ['Read me', '<h1>Hello</h1>\n'],
      ['Page', ''],
    ].map(([title, inner]) => [
      200,
      `<!doctype html>\n<meta charset="utf-8">\n<title>${title}</title>\n${inner}\n`,
      'text/html; charset=utf-8',
      policy,
    ]),
  )
})

test('objects, sensors and controls are read, and a control is set', async () => {
  await installAndStart(host, 'demo')
  const set = await host.request('PUT', '/api/plugins/@fixtures/demo/controls/level', { body: { value: 7 } })
  assert.deepEqual([set.status, set.body], [200, { id: 'level', value: 7 }])
  const views = await Promise.all(
    ['objects', 'sensors', 'controls'].map((view) => host.request('GET', `/api/plugins/demo/${view}`)),
  )
  assert.deepEqual(
    views.map(({ status, body }) => [status, body]),
    [
      [200, { objects: { 'room.lamp': { on: false, level: 7 } } }],
      [
        200,
        {
          sensors: [{ id: 'double', value: 14, type: 'number', description: 'Twice the level', unit: 'x' }],
        },
      ],
      [200, { controls: [{ id: 'level', value: 7, type: 'number', range: '0-10' }] }],
    ],
  )
})

test('history is read whole, page by page, by plugin, and as the state at any event', async () => {
  const all = (await host.request('GET', '/api/history')).body.events
  assert.deepEqual(
    all.map(({ seq }: { seq: number }) => seq),
    all.map((_: unknown, index: number) => index + 1),
  )
  const page = await host.request('GET', '/api/history?after=3&limit=2')
  assert.deepEqual([page.status, page.body], [200, { events: all.slice(3, 5) }])
  const own = await host.request('GET', '/api/plugins/hello/history')
  assert.deepEqual(
    own.body.events,
    all.filter(({ plugin }: { plugin: string }) => plugin === '@fixtures/hello'),
  )
  const installed = own.body.events.find(({ type }: { type: string }) => type === 'PluginInstalled')
  const state = await host.request('GET', `/api/history/${installed.seq}/state`)
  assert.deepEqual(
    [state.status, state.body],
    [
      200,
      {
        seq: installed.seq,
        plugins: [
          {
            id: '@fixtures/hello',
            state: 'installed',
            enabled: false,
            version: '1.0.0',
            revision: 2,
            error: null,
          },
        ],
      },
    ],
  )
  assert.equal((await host.request('GET', '/api/history/99999/state')).body.code, 'not_found')
})

test('repositories are added, listed and removed', async () => {
  const fixtures = {
    name: 'fixtures',
    url: host.repository,
    publicKey: null,
    signed: false,
    signedAt: null,
    namespace: 'fixtures',
    namespaceHeldBy: null,
    plugins: standardFixtures.length,
    error: null,
  }
  const listed = await host.request('GET', '/api/repositories')
  assert.deepEqual([listed.status, listed.body], [200, { repositories: [fixtures] }])
  const added = await host.request('POST', '/api/repositories', {
    body: { name: 'my own', url: host.repository },
  })
  assert.deepEqual(
    [added.status, added.headers.get('location'), added.body],
    [
      201,
      '/api/repositories/my%20own',
      { repositories: [fixtures, { ...fixtures, name: 'my own', namespaceHeldBy: 'fixtures' }] },
    ],
  )
  const removed = await host.request('DELETE', '/api/repositories/my%20own')
  assert.deepEqual([removed.status, removed.body], [200, { repositories: [fixtures] }])
})

test('a repository gets no name that its own address could not have', async () => {
  for (const name of ['.', '..', 'a\nb', '\ud800', '\u0085']) {
    const { status, body } = await host.request('POST', '/api/repositories', {
      body: { name, url: host.repository },
    })
    assert.deepEqual([status, body.code, body.errors[0].path], [400, 'body_invalid', '/name'])
  }
  const { body } = await host.request('GET', '/api/repositories')
  assert.deepEqual(
    body.repositories.map((each: { name: string }) => each.name),
    ['fixtures'],
  )
})

test('uninstalling keeps files and store unless they are named, and history stays', async () => {
  const file = join(host.directory, 'plugins', 'fixtures--hello', 'plugin.json')
  const removed = await host.request('DELETE', '/plugins/@fixtures/hello')
  assert.deepEqual([removed.status, removed.body], [200, { id: '@fixtures/hello', state: 'uninstalled' }])
  assert.equal(JSON.parse(await readFile(file, 'utf8')).id, 'hello')
  const history = await host.request('GET', '/api/plugins/@fixtures/hello/history?after=0')
  assert.equal(history.body.events.at(-1).type, 'PluginUninstalled')

  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })
  const purged = await host.request('DELETE', '/api/plugins/hello?purge=files,kv')
  assert.deepEqual([purged.status, purged.body], [200, { id: '@fixtures/hello', state: 'uninstalled' }])
  await assert.rejects(readFile(file), { code: 'ENOENT' })
})

test('machines, the manifest schema and the health of the host are told', async () => {
  const names = await host.request('GET', '/api/machines')
  assert.deepEqual([names.status, names.body], [200, { machines: ['host', 'plugin-lifecycle'] }])
  const types = await Promise.all(
    ['', '?format=json', '?format=mermaid', '?format=scxml'].map(async (query) => {
      const { status, headers } = await host.request('GET', `/api/machines/host${query}`)
      return [status, headers.get('content-type')]
    }),
  )
  assert.deepEqual(types, [
    [200, 'application/json; charset=utf-8'],
    [200, 'application/json; charset=utf-8'],
    [200, 'text/plain; charset=utf-8'],
    [200, 'application/scxml+xml; charset=utf-8'],
  ])
  const schema = await host.request('GET', '/api/schema/plugin.json')
  assert.deepEqual([schema.status, schema.body.required], [200, ['id', 'name', 'version']])
  const health = await Promise.all([host.request('GET', '/livez'), host.request('GET', '/readyz')])
  assert.deepEqual(
    health.map(({ status, body }) => [status, body]),
    [
      [200, { status: 'ok', version: hostVersion }],
      [200, { ready: true, reasons: [], safeMode: null }],
    ],
  )
})

test('HEAD answers as GET without the body, and OPTIONS says what an address takes', async () => {
  const head = await fetch(`${host.url}/api/plugins/demo`, { method: 'HEAD' })
  const get = await host.request('GET', '/api/plugins/demo')
  assert.deepEqual(
    [head.status, await head.text(), head.headers.get('etag'), head.headers.get('content-length')],
    [200, '', get.headers.get('etag'), get.headers.get('content-length')],
  )
  assert.equal((await host.request('HEAD', '/api/events')).status, 200)
  const options = await host.request('OPTIONS', '/api/plugins/demo')
  assert.deepEqual([options.status, options.headers.get('allow')], [204, 'DELETE, GET, HEAD, OPTIONS'])
})
