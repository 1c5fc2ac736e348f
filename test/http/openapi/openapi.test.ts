import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { problemTable } from '../../../src/base/problem.ts'
import { createSchemaTranslator } from '../../../src/http/openapi/schema-translator.ts'
import { startTestHost, type TestHost } from '../../helpers/test-host.ts'

let host: TestHost
let document: any
before(async () => {
  host = await startTestHost()
  document = (await host.request('GET', '/api/openapi.json')).body
})
after(() => host.close())

/** Every address of the contract. */
const contract = `
GET /api/catalog
GET /api/events
GET /api/history
GET /api/history/{seq}/state
GET /api/inspect
GET /api/hosts
GET /api/machines
GET /api/machines/{name}
GET /api/openapi.json
GET /api/plugins
GET /api/plugins/{id}
GET /api/plugins/{id}/controls
GET /api/plugins/{id}/doc
GET /api/plugins/{id}/exposures
GET /api/plugins/{id}/history
GET /api/plugins/{id}/hooks
GET /api/plugins/{id}/logs
GET /api/plugins/{id}/machine
GET /api/plugins/{id}/objects
GET /api/plugins/{id}/sensors
GET /api/repositories
GET /livez
GET /mqtt
GET /readyz
POST /api/hosts/{host}/drain
POST /api/plugins/install
POST /api/plugins/{id}/config
POST /api/plugins/{id}/config/check
POST /api/plugins/{id}/hook-secret
POST /hooks/{namespace}/{plugin}/{path}
POST /api/plugins/{id}/reload
POST /api/plugins/{id}/rollback
POST /api/plugins/{id}/toggle
POST /api/plugins/{id}/update
POST /api/repositories
POST /plugins/{id}/config
POST /plugins/{id}/toggle
PUT /api/plugins/{id}/controls/{control}
PUT /api/plugins/{id}/exposures/{exposure}/{feature}
PUT /api/plugins/{id}/placement
DELETE /api/hosts/{host}/drain
DELETE /api/plugins/{id}
DELETE /api/repositories/{name}
DELETE /plugins/{id}
`
  .trim()
  .split('\n')

function operations(): { name: string; path: string; operation: any }[] {
  return Object.entries<Record<string, any>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  )
}

test('every address of the contract is described', () => {
  const described = new Set(operations().map(({ name }) => name))
  assert.deepEqual(
    contract.filter((name) => !described.has(name)),
    [],
  )
  assert.equal(document.openapi, '3.1.0')
})

test('every operation has an id of its own, a summary, its path parameters and an answer', () => {
  const all = operations()
  assert.equal(new Set(all.map(({ operation }) => operation.operationId)).size, all.length)
  for (const { name, path, operation } of all) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, part]) => part)
    const given = operation.parameters.filter((one: any) => one.in === 'path').map((one: any) => one.name)
    assert.deepEqual(given, inPath, name)
    assert.ok(operation.summary.length > 5, name)
    assert.ok(
      Object.keys(operation.responses).some((status) => Number(status) < 300),
      name,
    )
  }
})

test('what may stand in the query of an address is explained, where its values do not say it', () => {
  const parameters = operations().flatMap(({ name, operation }) =>
    operation.parameters.map((one: any) => ({ ...one, name: `${name} ${one.name}` })),
  )
  const isClear = ({ description, schema }: any): boolean => description !== undefined || 'enum' in schema
  assert.deepEqual(
    parameters.filter((one) => one.in === 'query' && !isClear(one)).map(({ name }) => name),
    [],
  )
})

test('the description of the event stream tells what each event has', () => {
  const { summary, description } = document.paths['/api/events'].get
  const events = summary.match(/: ([\w, ]+); /)[1].split(', ')
  assert.ok(events.length > 5)
  for (const event of events) assert.match(description, new RegExp(`^- .*\`${event}\`.*: `, 'm'))
})

test('every reference leads to a schema, and every code of the table is told', () => {
  const text = JSON.stringify(document)
  const references = new Set(
    [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name),
  )
  assert.deepEqual([...references].sort(), Object.keys(document.components.schemas).sort())
  assert.deepEqual(document.components.schemas.Problem.properties.code.enum, Object.keys(problemTable))
})

/** The schema with what it refers to in place of the references; one that speaks of itself, three times over. */
function whole(schema: any, within: readonly string[] = []): any {
  if (Array.isArray(schema)) return schema.map((item) => whole(item, within))
  if (typeof schema !== 'object' || schema === null) return schema
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined
  if (name !== undefined) {
    if (within.filter((one) => one === name).length === 3) return {}
    return whole(document.components.schemas[name], [...within, name])
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, whole(value, within)]))
}

const requests: [name: string, path: string, body?: unknown][] = [
  ['GET /api/catalog', '/api/catalog'],
  ['GET /api/catalog', '/api/catalog?repository=none'],
  ['POST /api/plugins/install', '/api/plugins/install', { fullId: '@fixtures/demo' }],
  ['POST /api/plugins/install', '/api/plugins/install', { fullId: '@fixtures/demo' }],
  ['POST /api/plugins/install', '/api/plugins/install', { fullId: 'demo' }],
  ['POST /api/plugins/install', '/api/plugins/install', { fullId: '@fixtures/hello' }],
  ['POST /api/plugins/install', '/api/plugins/install', { fullId: '@fixtures/faulty' }],
  ['POST /api/plugins/{id}/toggle', '/api/plugins/demo/toggle', {}],
  ['POST /plugins/{id}/toggle', '/plugins/faulty/toggle', { enabled: true }],
  ['POST /plugins/{id}/toggle', '/plugins/hello/toggle', { enable: true }],
  ['POST /api/plugins/{id}/config/check', '/api/plugins/hello/config/check', { config: { interval: 'x' } }],
  ['POST /api/plugins/{id}/config', '/api/plugins/hello/config', { config: { interval: 5, apiKey: 'k' } }],
  ['POST /plugins/{id}/config', '/plugins/hello/config', { config: { interval: 0 } }],
  ['POST /api/plugins/{id}/reload', '/api/plugins/demo/reload', {}],
  ['GET /api/plugins/{id}/hooks', '/api/plugins/demo/hooks'],
  ['POST /api/plugins/{id}/hook-secret', '/api/plugins/demo/hook-secret', {}],
  ['POST /hooks/{namespace}/{plugin}/{path}', '/hooks/fixtures/demo/nothing', {}],
  ['POST /api/plugins/install/check', '/api/plugins/install/check', { fullId: '@fixtures/needy' }],
  ['POST /api/plugins/{id}/update/check', '/api/plugins/demo/update/check', {}],
  ['POST /api/plugins/{id}/update', '/api/plugins/demo/update', {}],
  ['POST /api/plugins/{id}/rollback', '/api/plugins/hello/rollback', {}],
  ['GET /api/plugins', '/api/plugins'],
  ['GET /api/plugins', '/api/plugins?state=nowhere'],
  ['GET /api/suggestions', '/api/suggestions?kind=topic'],
  ['GET /api/suggestions', '/api/suggestions?kind=weather'],
  ['GET /api/plugins/{id}', '/api/plugins/@fixtures/demo'],
  ['GET /api/plugins/{id}', '/api/plugins/nobody'],
  ['GET /api/plugins/{id}/logs', '/api/plugins/faulty/logs'],
  ['GET /api/plugins/{id}/history', '/api/plugins/demo/history'],
  ['GET /api/plugins/{id}/objects', '/api/plugins/demo/objects'],
  ['GET /api/plugins/{id}/sensors', '/api/plugins/demo/sensors'],
  ['GET /api/plugins/{id}/controls', '/api/plugins/demo/controls'],
  ['GET /api/plugins/{id}/exposures', '/api/plugins/demo/exposures'],
  ['PUT /api/plugins/{id}/exposures/{exposure}/{feature}', '/api/plugins/demo/exposures/a/b', { value: 1 }],
  ['PUT /api/plugins/{id}/controls/{control}', '/api/plugins/demo/controls/level', { value: 3 }],
  ['PUT /api/plugins/{id}/controls/{control}', '/api/plugins/demo/controls/level', { value: 99 }],
  ['GET /api/plugins/{id}/machine', '/api/plugins/demo/machine'],
  ['GET /api/plugins/{id}/doc', '/api/plugins/hello/doc?file=README.md'],
  ['GET /api/plugins/{id}/doc', '/api/plugins/hello/doc?file=secret'],
  ['GET /api/history', '/api/history'],
  ['GET /api/history/{seq}/state', '/api/history/3/state'],
  ['GET /api/history/{seq}/state', '/api/history/999/state'],
  ['GET /api/history/{seq}/state', '/api/history/yesterday/state'],
  ['GET /api/plugins/{id}', '/api/plugins/%ff'],
  ['DELETE /api/repositories/{name}', '/api/repositories/%ff'],
  ['GET /api/schema/plugin.json', '/api/schema/plugin.json'],
  ['GET /api/machines', '/api/machines'],
  ['GET /api/machines/{name}', '/api/machines/host'],
  ['GET /api/machines/{name}', '/api/machines/host?format=mermaid'],
  ['GET /api/repositories', '/api/repositories'],
  ['GET /api/hosts', '/api/hosts'],
  ['POST /api/hosts/{host}/drain', '/api/hosts/attic/drain'],
  ['DELETE /api/hosts/{host}/drain', '/api/hosts/attic/drain'],
  ['PUT /api/plugins/{id}/placement', '/api/plugins/demo/placement', { labels: ['serial'] }],
  ['POST /api/repositories', '/api/repositories', { name: 'x', url: '/nowhere/at/all' }],
  ['DELETE /api/repositories/{name}', '/api/repositories/nobody'],
  ['DELETE /api/plugins/{id}', '/api/plugins/faulty'],
  ['DELETE /plugins/{id}', '/plugins/faulty'],
  ['GET /livez', '/livez'],
  ['GET /readyz', '/readyz'],
  ['GET /api/openapi.json', '/api/openapi.json'],
  ['GET /api/inspect', '/api/inspect'],
]

test('what a host answers is what its description says', async () => {
  const statuses = new Set<number>()
  for (const [name, path, body] of requests) {
    const [method = ''] = name.split(' ')
    const answer = await host.request(method, path, body === undefined ? {} : { body })
    const described = operations().find((one) => one.name === name)?.operation.responses[answer.status]
    assert.ok(described, `${name} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    statuses.add(answer.status)
    if (answer.status < 300)
      assert.deepEqual(
        ['etag', 'first-seq', 'last-seq', 'location'].filter((header) => answer.headers.has(header)),
        Object.keys(described.headers ?? {})
          .map((header) => header.toLowerCase())
          .sort(),
        name,
      )
    const type = answer.headers.get('content-type')?.split(';')[0] ?? ''
    const schema = described.content?.[type]?.schema
    assert.ok(schema, `${name} answered ${answer.status} with ${type}`)
    const validator = Compile(whole(schema))
    assert.ok(validator.Check(answer.body), `${name}: ${JSON.stringify(validator.Errors(answer.body))}`)
  }
  assert.deepEqual([...statuses].sort(), [200, 201, 400, 404, 409, 422, 502])
})

test('a named schema is described once, also when it speaks of itself by another', () => {
  const Leaf = Type.Object({ kind: Type.Union([Type.Literal('a'), Type.Literal('b')]) })
  const Tree = Type.Object({ leaves: Type.Array(Leaf) })
  const schemas = createSchemaTranslator({ Leaf, Tree })
  assert.deepEqual(schemas.translate(Type.Array(Tree)), {
    type: 'array',
    items: { $ref: '#/components/schemas/Tree' },
  })
  assert.deepEqual(schemas.components(), {
    Leaf: { type: 'object', required: ['kind'], properties: { kind: { type: 'string', enum: ['a', 'b'] } } },
    Tree: {
      type: 'object',
      required: ['leaves'],
      properties: { leaves: { type: 'array', items: { $ref: '#/components/schemas/Leaf' } } },
    },
  })
})
