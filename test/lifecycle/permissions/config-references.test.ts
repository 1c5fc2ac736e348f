import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissionChanges } from '../../../src/lifecycle/permissions/permission-changes.ts'
import { resolvePermissions } from '../../../src/lifecycle/permissions/resolve-permissions.ts'

const config = {
  url: 'http://one.example/x',
  'my.key': 'dotted',
  broker: { host: 'broker.example', topics: ['a/b', '', 'c/#'] },
  rules: [
    { from: 'in/1', to: 'out/1', url: 'http://a.example:8080/', plugin: '@x/one' },
    { from: 'in/2', to: 'out/2', url: '', plugin: '@x/two/sensor' },
    { from: '', to: 'out/3', targets: [{ name: 't1' }, { name: 't2' }], plugin: '@x/three:path' },
    { plugin: 'plugins.x.four.value' },
    { plugin: '*' },
    { plugin: 'my plugins.x.five' },
    { plugin: 'plugins.x.six/value' },
    'no row',
  ],
  empty: [],
  none: null,
}

function resolved(permissions: Parameters<typeof resolvePermissions>[0]) {
  return resolvePermissions(permissions, config, 'host')
}

test('a reference leads to a member, and to each row, one entry a row and none for an empty value', () => {
  const topics: [string, string[]][] = [
    ['${config.rules[].from}', ['in/1', 'in/2']],
    ['x/${config.rules[].to}/set', ['x/out/1/set', 'x/out/2/set', 'x/out/3/set']],
    // Of the same row, and not of each with each.
    ['${config.rules[].from}/${config.rules[].to}', ['in/1/out/1', 'in/2/out/2']],
    ['${config.rules[].targets[].name}/${config.rules[].to}', ['t1/out/3', 't2/out/3']],
    ['${config.broker.topics[]}', ['a/b', 'c/#']],
    ['${config.broker.host}/${config.broker.topics[]}', ['broker.example/a/b', 'broker.example/c/#']],
    ['${config.my.key}', ['dotted']],
    ['${config.empty[].x}', []],
    ['${config.none[].x}', []],
    ['${config.rules}', []],
    ['${config.rules[]}', ['no row']],
    ['${config.broker.nothing}', []],
    ['${config.__proto__.x}', []],
    // What every object, text and list of JavaScript has is nothing that anybody has configured.
    ['${config.broker.constructor.name}', []],
    ['${config.url.length}', []],
    ['${config.broker.topics.length}', []],
    ['plain/+', ['plain/+']],
  ]
  for (const [pattern, expected] of topics) {
    assert.deepEqual(resolved({ mqtt: { subscribe: [pattern] } }).subscribe, expected, pattern)
  }
  assert.deepEqual(
    resolved({ hosts: ['${config.rules[].url}', '${config.broker.host}', '${config.url}'] }).hosts,
    ['a.example', 'broker.example', 'one.example'],
  )
  // A text has neither rows nor a first one.
  assert.deepEqual(resolved({ hosts: ['${config.broker.host[]}', '${config.broker.host[0]}'] }).hosts, [])
  assert.deepEqual(resolved({ plugins: ['${config.rules[].plugin}', '@y/*'] }).plugins, [
    '@x/one',
    '@x/two',
    '@x/three',
    '@x/four',
    '@y/*',
  ])
})

test('of lists within rows each row has its own', () => {
  const nested = {
    rooms: [
      { name: 'hall', lamps: [{ id: 'a' }, { id: 'b' }] },
      { name: 'attic', lamps: [{ id: 'c' }] },
      { name: 'cellar', lamps: [] },
    ],
  }
  assert.deepEqual(
    resolvePermissions(
      { mqtt: { publish: ['${config.rooms[].lamps[].id}/${config.rooms[].name}'] } },
      nested,
      'host',
    ).publish,
    ['a/hall', 'b/hall', 'c/attic'],
  )
})

test('a manifest that pairs lists with one another gets no endless number of entries', () => {
  const many = Array.from({ length: 500 }, (_, index) => ({ x: `v${index}` }))
  const lists = { a: many, b: many, c: many, d: many }
  const pattern = '${config.a[].x}/${config.b[].x}/${config.c[].x}/${config.d[].x}'
  assert.deepEqual(resolvePermissions({ mqtt: { publish: [pattern] } }, lists, 'host').publish, [])
})

test('lists that make too many entries, or too long ones, make none, and all lines of a manifest together no more', () => {
  const rows = (count: number) => Array.from({ length: count }, (_, index) => ({ x: `v${index}` }))
  // Of which each pair would be one: more than there is memory for.
  const lists = { a: rows(50_000), b: rows(50_000), c: rows(6_000), long: 'x'.repeat(60_000) }
  const publish = (...lines: string[]): number =>
    resolvePermissions({ mqtt: { publish: lines } }, lists, 'host').publish.length
  assert.equal(publish('${config.c[].x}/1', '${config.c[].x}/2', 'lamps/#'), 6_001)
  assert.equal(publish('${config.long}/${config.c[].x}'), 0)
  assert.equal(publish('${config.a[].x}/${config.b[].x}'), 0)
  assert.equal(publish('${config.c[].x}/${config.c[].x}'), 6_000)
  const hosts = (...lines: string[]): number =>
    resolvePermissions({ hosts: lines }, lists, 'host').hosts.length
  assert.equal(hosts('${config.a[].x}', '${config.c[].x}', '${config.c}', 'lamp.local'), 6_001)
})

test('a value of a row may have the form of a reference, and is none', () => {
  const tricky = { rules: [{ to: '${config.secret}' }], secret: 'x' }
  assert.deepEqual(
    resolvePermissions({ mqtt: { publish: ['${config.rules[].to}'] } }, tricky, 'host').publish,
    ['${config.secret}'],
  )
})

test('an update that leads a reference elsewhere in the same rows is told as more', () => {
  const rows = {
    rules: [
      { from: 'a', to: 'b' },
      { from: 'c', to: 'd' },
    ],
  }
  const grant = (subscribe: string[]) => ({
    permissions: { mqtt: { subscribe }, plugins: [] },
    config: rows,
    variables: [],
  })
  const added = (before: string[], after: string[]) =>
    permissionChanges(grant(before), grant(after)).added.map(({ value }) => value)
  assert.deepEqual(added(['#'], ['${config.rules[].from}']), [])
  assert.deepEqual(added(['a', 'c'], ['${config.rules[].from}']), [])
  assert.deepEqual(added(['a'], ['${config.rules[].from}']), ['${config.rules[].from}'])
  assert.deepEqual(added(['${config.rules[].from}'], ['${config.rules[].to}']), ['${config.rules[].to}'])
})

test('where hundreds of hosts are configured an update is compared soon: the same is the same, and all else is told', () => {
  const grant = (host: string, count: number, plugins: string[]) => ({
    permissions: { hosts: ['${config.hosts[]}'], plugins },
    config: { hosts: Array.from({ length: count }, (_, index) => `${host}${index}.example`) },
    variables: [],
  })
  const value = '${config.hosts[]}'
  const told = (...grants: Parameters<typeof permissionChanges>) => {
    const { added, removed } = permissionChanges(...grants)
    return [added, removed].map((entries) => entries.map((entry) => entry.value))
  }
  assert.deepEqual(told(grant('a', 400, ['@x/*']), grant('b', 400, ['@x/y'])), [
    [value, '@x/y'],
    [value, '@x/*'],
  ])
  assert.deepEqual(told(grant('a', 400, ['*']), grant('a', 350, ['@x/y'])), [[], [value, '*']])
  assert.deepEqual(told(grant('a', 50, ['@x/*']), grant('a', 50, ['@x/y'])), [[], ['@x/*']])
})
