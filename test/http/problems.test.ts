import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Logger } from '../../src/base/log/log.ts'
import { Problem, type ProblemCode, problemTable } from '../../src/base/problem.ts'
import {
  type FixturePlugin,
  standardFixtures,
  writeFixtureRepository,
} from '../helpers/fixture-repository.ts'
import { newKey, signFolder } from '../helpers/signed-repository.ts'
import { startHostFor, startTestHost, type TestHost } from '../helpers/test-host.ts'
import { startHttp } from './http-over.ts'

const bad: FixturePlugin[] = [
  ...standardFixtures,
  { id: 'crooked', lua: '', manifest: { version: 'one' } },
  { id: 'twin', lua: '' },
]

let host: TestHost
before(async () => {
  host = await startTestHost({ plugins: bad })
  const other = join(host.directory, '..', 'other')
  await writeFixtureRepository(other, [{ id: 'hello', lua: '' }], 'other')
  const mirror = join(host.directory, '..', 'mirror')
  await writeFixtureRepository(mirror, [{ id: 'twin', lua: '' }])
  const altered = join(host.directory, '..', 'altered')
  await mkdir(join(altered, 'hello'), { recursive: true })
  await writeFixtureRepository(altered, [{ id: 'hello', lua: '' }], 'altered')
  const index = {
    version: 1,
    name: 'Altered',
    namespace: 'altered',
    plugins: [
      { id: 'hello', name: 'x', version: '1.0.0', path: 'hello', sha256: { 'init.lua': '0'.repeat(64) } },
    ],
  }
  await writeFile(join(altered, 'plugins.json'), JSON.stringify(index))
  for (const [name, url] of Object.entries({ other, mirror, altered })) {
    const { status } = await host.request('POST', '/api/repositories', { body: { name, url } })
    assert.equal(status, 201)
  }
  for (const fullId of ['@fixtures/hello', '@other/hello', '@fixtures/demo', '@fixtures/needy']) {
    const { status } = await host.request('POST', '/api/plugins/install', { body: { fullId } })
    assert.equal(status, 201, fullId)
  }
  const signed = join(host.directory, '..', 'signed')
  await writeFixtureRepository(signed, [{ id: 'lamp', lua: '' }], 'signed')
  const key = newKey()
  await signFolder(signed, key)
  const body = { name: 'signed', url: signed, publicKey: key.public.text }
  assert.equal((await host.request('POST', '/api/repositories', { body })).status, 201)
  await rm(join(signed, 'plugins.json.minisig'))
  await host.request('POST', '/api/plugins/demo/toggle')
})
after(() => host.close())

const install = (fullId: string, more: object = {}) => ({ body: { fullId, ...more } })
const text = (body: string, type: string) => ({ body, headers: { 'content-type': type } })

interface Case {
  code: ProblemCode
  method: string
  path: string
  options?: { body?: unknown; headers?: Record<string, string> }
  /** Pointers in `errors`. */
  paths?: string[]
}

const demo = '/api/plugins/@fixtures/demo'
const cases: Case[] = [
  { code: 'not_found', method: 'GET', path: '/api/nothing' },
  { code: 'not_found', method: 'GET', path: '/nowhere' },
  { code: 'not_found', method: 'GET', path: '/api/machines/toString' },
  { code: 'not_found', method: 'GET', path: '/api/history/999999/state' },
  { code: 'not_found', method: 'GET', path: '/API/plugins' },
  // It would be stored, and come back, as null.
  {
    code: 'body_invalid',
    method: 'POST',
    path: `${demo}/config`,
    options: text('{"config": {"other": 1e400}}', 'application/json'),
  },
  { code: 'method_not_allowed', method: 'PUT', path: '/api/plugins' },
  { code: 'method_not_allowed', method: 'POST', path: '/api/plugins/demo' },
  { code: 'method_not_allowed', method: 'PROPFIND', path: demo },
  { code: 'method_not_allowed', method: 'GET', path: '/plugins/@fixtures/demo/toggle' },
  { code: 'plugin_not_installed', method: 'GET', path: '/api/plugins/@fixtures/none' },
  { code: 'plugin_not_installed', method: 'GET', path: '/api/plugins/none/logs' },
  { code: 'plugin_not_installed', method: 'GET', path: '/api/plugins/@fixtures/none/history' },
  { code: 'plugin_not_installed', method: 'GET', path: '/api/plugins/@fixtures/none/machine' },
  { code: 'plugin_not_installed', method: 'POST', path: '/api/plugins/%2e%2e%2f%2e%2e/toggle' },
  { code: 'plugin_not_installed', method: 'GET', path: '/api/plugins/@a/..%2f..%2fb' },
  { code: 'plugin_not_installed', method: 'GET', path: `/api/plugins/${'a'.repeat(5_000)}` },
  { code: 'plugin_not_installed', method: 'GET', path: '/api/plugins/UPPER' },
  { code: 'plugin_not_installed', method: 'GET', path: '/api/plugins/__proto__/logs' },
  { code: 'plugin_not_installed', method: 'DELETE', path: '/plugins/@fixtures/none' },
  { code: 'plugin_not_installed', method: 'GET', path: '/api/events?plugin=none' },
  { code: 'ambiguous_id', method: 'GET', path: '/api/plugins/hello' },
  { code: 'ambiguous_id', method: 'POST', path: '/plugins/hello/toggle' },
  {
    code: 'plugin_not_in_repository',
    method: 'POST',
    path: '/api/plugins/install',
    options: install('@fixtures/none'),
  },
  {
    code: 'repository_unknown',
    method: 'POST',
    path: '/api/plugins/install',
    options: install('@fixtures/faulty', { repository: 'x' }),
  },
  { code: 'repository_unknown', method: 'DELETE', path: '/api/repositories/x' },
  { code: 'repository_unknown', method: 'GET', path: '/api/catalog?repository=x' },
  { code: 'doc_not_found', method: 'GET', path: `${demo}/doc?file=init.lua` },
  { code: 'doc_not_found', method: 'GET', path: '/api/plugins/@fixtures/hello/doc?file=../../.host.json' },
  { code: 'control_unknown', method: 'PUT', path: `${demo}/controls/none`, options: { body: { value: 1 } } },
  {
    code: 'control_value_invalid',
    method: 'PUT',
    path: `${demo}/controls/level`,
    options: { body: { value: 11 } },
  },
  {
    code: 'already_installed',
    method: 'POST',
    path: '/api/plugins/install',
    options: install('@fixtures/demo'),
  },
  {
    code: 'ambiguous_repository',
    method: 'POST',
    path: '/api/plugins/install',
    // Both repositories call themselves so, and neither has this namespace.
    options: { body: { fullId: '@nobody/twin', repository: 'Fixtures' } },
  },
  { code: 'invalid_transition', method: 'POST', path: '/api/plugins/@fixtures/hello/rollback' },
  {
    code: 'revision_conflict',
    method: 'POST',
    path: `${demo}/toggle`,
    options: { headers: { 'if-match': '"1"' } },
  },
  {
    code: 'revision_conflict',
    method: 'DELETE',
    path: demo,
    options: { headers: { 'if-match': '"1", "x"' } },
  },
  {
    code: 'revision_conflict',
    method: 'PUT',
    path: `${demo}/controls/level`,
    options: { body: { value: 1 }, headers: { 'if-match': '"1"' } },
  },
  {
    code: 'manifest_invalid',
    method: 'POST',
    path: '/api/plugins/install',
    options: install('@fixtures/crooked'),
  },
  {
    code: 'config_invalid',
    method: 'POST',
    path: '/api/plugins/@fixtures/hello/config',
    options: { body: { config: { interval: 0, name: 5 } } },
    paths: ['/config/interval', '/config/name'],
  },
  {
    code: 'host_version_unsupported',
    method: 'POST',
    path: '/api/plugins/install',
    options: install('@fixtures/future'),
  },
  {
    code: 'integrity_mismatch',
    method: 'POST',
    path: '/api/plugins/install',
    options: install('@altered/hello'),
  },
  {
    code: 'repository_unreachable',
    method: 'POST',
    path: '/api/repositories',
    options: { body: { name: 'gone', url: '/nowhere/at/all' } },
  },
  {
    code: 'signature_invalid',
    method: 'POST',
    path: '/api/plugins/install',
    options: install('@signed/lamp', { repository: 'signed' }),
  },
  {
    code: 'repository_pinned',
    method: 'POST',
    path: '/api/repositories',
    options: { body: { name: 'signed', url: '/nowhere', publicKey: newKey().public.text } },
  },
  {
    code: 'body_invalid',
    method: 'POST',
    path: '/api/repositories',
    options: { body: { name: 'x', url: '/nowhere', publicKey: 'my key' } },
    paths: ['/publicKey'],
  },
  // Bodies
  { code: 'body_invalid', method: 'POST', path: `${demo}/toggle`, options: { body: '{"enabled": tru}' } },
  { code: 'body_invalid', method: 'POST', path: `${demo}/toggle`, options: { body: '[]' }, paths: [''] },
  { code: 'body_invalid', method: 'POST', path: `${demo}/toggle`, options: { body: 'null' }, paths: [''] },
  { code: 'body_invalid', method: 'POST', path: `${demo}/toggle`, options: { body: '7' }, paths: [''] },
  {
    code: 'body_invalid',
    method: 'POST',
    path: `${demo}/toggle`,
    options: { body: { enabled: 'yes', enable: true } },
    paths: ['/enable', '/enabled'],
  },
  {
    code: 'body_invalid',
    method: 'POST',
    path: `${demo}/toggle`,
    options: { body: '{"enabled":true,"enabled":false}' },
    paths: ['/enabled'],
  },
  { code: 'body_invalid', method: 'POST', path: `${demo}/config`, paths: ['/config'] },
  {
    code: 'body_invalid',
    method: 'POST',
    path: `${demo}/config`,
    options: { body: { config: [] } },
    paths: ['/config'],
  },
  {
    code: 'body_invalid',
    method: 'POST',
    path: `${demo}/reload`,
    options: { body: { now: 1 } },
    paths: ['/now'],
  },
  {
    code: 'body_invalid',
    method: 'PUT',
    path: `${demo}/controls/level`,
    options: { body: {} },
    paths: ['/value'],
  },
  {
    code: 'body_invalid',
    method: 'POST',
    path: '/api/plugins/install',
    options: { body: { id: 5, repository: '' } },
    paths: ['/fullId', '/id', '/repository'],
  },
  {
    code: 'body_invalid',
    method: 'POST',
    path: '/api/plugins/install',
    options: install('hello'),
    paths: ['/fullId'],
  },
  {
    code: 'body_invalid',
    method: 'POST',
    path: '/api/plugins/install',
    options: install('@fixtures/hello', { id: 'other' }),
    paths: ['/id'],
  },
  {
    code: 'body_invalid',
    method: 'POST',
    path: '/api/repositories',
    options: { body: { name: '' } },
    paths: ['/name', '/url'],
  },
  {
    code: 'body_invalid',
    method: 'POST',
    path: `${demo}/toggle`,
    options: text('{"a":\u0000}', 'application/json'),
  },
  { code: 'body_invalid', method: 'POST', path: `${demo}/toggle`, options: { body: '['.repeat(5_000) } },
  // Addresses and headers
  { code: 'body_invalid', method: 'GET', path: '/api/plugins/%E0%A4%A' },
  { code: 'body_invalid', method: 'GET', path: '/api/plugins/a%00b' },
  { code: 'body_invalid', method: 'GET', path: '/api/history?after=x&limit=-1', paths: ['/after', '/limit'] },
  { code: 'body_invalid', method: 'GET', path: '/api/history?limit=1&limit=2', paths: ['/limit'] },
  { code: 'body_invalid', method: 'GET', path: '/api/history/x/state', paths: ['/seq'] },
  { code: 'body_invalid', method: 'GET', path: `${demo}/logs?level=loud`, paths: ['/level'] },
  { code: 'body_invalid', method: 'GET', path: `${demo}/doc`, paths: ['/file'] },
  { code: 'body_invalid', method: 'GET', path: `${demo}/doc?file=a&render=pdf`, paths: ['/render'] },
  { code: 'body_invalid', method: 'GET', path: '/api/machines/host?format=xml', paths: ['/format'] },
  { code: 'body_invalid', method: 'GET', path: '/api/plugins?state=asleep', paths: ['/state'] },
  { code: 'body_invalid', method: 'DELETE', path: `${demo}?purge=all`, paths: ['/purge'] },
  {
    code: 'body_invalid',
    method: 'POST',
    path: `${demo}/toggle`,
    options: { headers: { 'if-match': '5' } },
    paths: [''],
  },
  {
    code: 'body_invalid',
    method: 'POST',
    path: `${demo}/toggle`,
    options: { headers: { 'idempotency-key': 'a b' } },
  },
  {
    code: 'body_invalid',
    method: 'GET',
    path: '/api/events',
    options: { headers: { 'last-event-id': 'x' } },
    paths: [''],
  },
  // Media types
  {
    code: 'unsupported_media_type',
    method: 'POST',
    path: `${demo}/toggle`,
    options: text('{}', 'text/plain'),
  },
  {
    code: 'unsupported_media_type',
    method: 'POST',
    path: `${demo}/toggle`,
    options: text('a=b', 'application/x-www-form-urlencoded'),
  },
  {
    code: 'unsupported_media_type',
    method: 'POST',
    path: `${demo}/toggle`,
    options: text('{}', 'application/json; charset=latin1'),
  },
  {
    code: 'unsupported_media_type',
    method: 'POST',
    path: `${demo}/toggle`,
    options: { body: '{}', headers: { 'content-encoding': 'zstd' } },
  },
  {
    code: 'body_too_large',
    method: 'POST',
    path: `${demo}/config`,
    options: { body: { config: { a: 'x'.repeat(1024 * 1024) } } },
  },
]

test('every refusal is problem details with its code, and nothing has changed', async () => {
  const { seq } = (await host.request('GET', '/api/history')).body.events.at(-1)
  for (const { code, method, path, options = {}, paths } of cases) {
    const answer = await host.request(method, path, options)
    const label = `${method} ${path.slice(0, 60)} ${JSON.stringify(options).slice(0, 60)}`
    const { detail, errors, ...rest } = answer.body
    const { status, title } = problemTable[code]
    const instance = path.split('?')[0]
    assert.deepEqual(rest, { type: `urn:lupine:problem:${code}`, title, status, code, instance }, label)
    assert.deepEqual(
      [answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')],
      [status, 'application/problem+json', 'no-store'],
      label,
    )
    assert.match(detail, /\S.*\.$/s, label)
    if (paths !== undefined) {
      assert.deepEqual(errors?.map((error: { path: string }) => error.path).sort(), [...paths].sort(), label)
    }
  }
  const later = (await host.request('GET', `/api/history?after=${seq}`)).body.events
  const facts = later.map(({ type }: { type: string }) => type)
  assert.deepEqual(
    facts.filter((type: string) => !type.startsWith('PluginInstall')),
    [],
  )
})

test('a wrong method is told what the address takes', async () => {
  const answer = await host.request('PATCH', '/api/repositories')
  assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'GET, HEAD, OPTIONS, POST'])
})

test('a plugin whose dependency is missing is not enabled', async (context) => {
  const single = await startHostFor(context)
  const { status, body } = await single.request('POST', '/api/plugins/install', {
    body: { fullId: '@fixtures/dependent' },
  })
  const answer =
    status === 201 ? await single.request('POST', '/api/plugins/dependent/toggle') : { status, body }
  const code = answer.body.code ?? answer.body.error?.code
  assert.equal(code, 'dependency_unmet')
})

test('each code of the table is answered with its status, whatever raises it', async () => {
  let raised: unknown
  const http = await startHttp({
    list: () => {
      throw raised
    },
  })
  try {
    for (const code of Object.keys(problemTable) as ProblemCode[]) {
      raised = new Problem(code, 'Said on purpose.')
      const answer = await fetch(`${http.url}/api/plugins`)
      const { status, title } = problemTable[code]
      assert.deepEqual(
        [answer.status, await answer.json()],
        [
          status,
          {
            type: `urn:lupine:problem:${code}`,
            title,
            status,
            detail: 'Said on purpose.',
            instance: '/api/plugins',
            code,
          },
        ],
      )
    }
  } finally {
    await http.close()
  }
})

test('a mistake of the host is logged, and nothing of it is told', async () => {
  const lines: unknown[] = []
  const logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (message, fields) =>
      void lines.push([message, fields?.method, fields?.path, String(fields?.error)]),
  }
  const http = await startHttp(
    {
      list: () => {
        throw new Error('the secret is 42')
      },
    },
    { logger },
  )
  try {
    const answer = await fetch(`${http.url}/api/plugins?token=abc`)
    const body = await answer.text()
    assert.deepEqual([answer.status, JSON.parse(body).code, body.includes('42')], [500, 'internal', false])
    const [[message, method, path, error] = []] = lines as string[][]
    assert.deepEqual([lines.length, message, method, path], [1, 'A request failed', 'GET', '/api/plugins'])
    assert.match(error ?? '', /the secret is 42/)
  } finally {
    await http.close()
  }
})
