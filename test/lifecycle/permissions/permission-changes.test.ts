import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissionChanges, pluginMatches } from '../../../src/lifecycle/permissions/permission-changes.ts'
import type { Permissions } from '../../../src/schema/manifest/permissions.ts'

const config = {
  address: 'http://meter.example:8080/x',
  other: 'http://other.example/',
  device: '/dev/ttyUSB0',
  service: '_hue._tcp',
  plugin: '@x/one',
}

function grant(permissions: Permissions | null) {
  return { permissions, config, variables: permissions?.environment ?? [] }
}

function added(had: Permissions | null, has: Permissions | null): string[] {
  return permissionChanges(grant(had), grant(has)).added.map(({ kind, value }) => `${kind} ${value}`)
}

const hosts: [had: string, has: string, isMore: boolean][] = [
  ['a.example', 'a.example', false],
  ['a.example', 'A.example.', false],
  ['a.example', 'b.example', true],
  ['a.example', 'a.example:80', false],
  ['a.example:80', 'a.example', true],
  ['a.example:80', 'a.example:81', true],
  ['a.example:80', 'A.example:80', false],
  ['*', 'a.example', false],
  ['*', '*.example', false],
  ['a.example', '*', true],
  ['*:443', 'a.example:443', false],
  ['*:443', 'a.example', true],
  ['*.example', 'a.example', false],
  ['*.example', 'b.a.example', false],
  ['*.example', '*.a.example', false],
  ['*.example', 'example', true],
  ['*.example', 'evilexample', true],
  ['*.example', 'a.example.evil', true],
  ['*.example', '*.Example', false],
  ['*.example', '*.other', true],
  ['*.a.example', '*.example', true],
  ['a.example', '*.a.example', true],
  ['a.example', '*.example', true],
  // What is configured is compared, and not how it is written down.
  ['${config.address}', 'meter.example', false],
  ['meter.example', '${config.address}', false],
  ['${config.address}', '${config.other}', true],
  ['${config.nothing}', '${config.neither}', true],
  ['*', '${config.neither}', false],
]

test('another host is more unless what was there takes it in', () => {
  for (const [had, has, isMore] of hosts) {
    assert.deepEqual(
      added({ hosts: [had] }, { hosts: [has] }),
      isMore ? [`host ${has}`] : [],
      `${had} → ${has}`,
    )
  }
})

const others: [had: Permissions, has: Permissions, more: string[]][] = [
  [{ plugins: ['@x/*'] }, { plugins: ['@x/one'] }, []],
  [{ plugins: ['@x/*'] }, { plugins: ['@xy/one'] }, ['plugin @xy/one']],
  [{ plugins: ['@x/one'] }, { plugins: ['@x/*'] }, ['plugin @x/*']],
  [{ plugins: ['@x/one'] }, { plugins: ['@x/one2'] }, ['plugin @x/one2']],
  [{ plugins: ['*'] }, { plugins: ['@x/one'] }, []],
  [{ plugins: ['@x/one'] }, { plugins: ['*'] }, ['plugin *']],
  [{ plugins: ['${config.plugin}'] }, { plugins: ['@x/one'] }, []],
  [{ serial: ['/dev/ttyUSB0'] }, { serial: ['/dev/ttyUSB1'] }, ['serial /dev/ttyUSB1']],
  [{ serial: ['/dev/ttyUSB0'] }, { serial: ['/dev/ttyusb0'] }, ['serial /dev/ttyusb0']],
  [{ serial: ['${config.device}'] }, { serial: ['/dev/ttyUSB0'] }, []],
  [{ serial: ['/dev/+'] }, { serial: ['/dev/ttyUSB1'] }, ['serial /dev/ttyUSB1']],
  [{ serial: ['*'] }, { serial: ['/dev/ttyUSB1'] }, []],
  [{ discovery: ['_hue._tcp'] }, { discovery: ['_HUE._tcp'] }, []],
  [{ discovery: ['_hue._tcp'] }, { discovery: ['_http._tcp'] }, ['discovery _http._tcp']],
  [{ discovery: ['${config.service}'] }, { discovery: ['_hue._tcp'] }, []],
  [{ mqtt: { publish: ['a/#'] } }, { mqtt: { publish: ['a/b'] } }, []],
  [{ mqtt: { publish: ['a/b'] } }, { mqtt: { publish: ['a/#'] } }, ['publish a/#']],
  // What is not configured may become anything.
  [
    { mqtt: { publish: ['a/+'] } },
    { mqtt: { publish: ['a/${config.nothing}'] } },
    ['publish a/${config.nothing}'],
  ],
  [{ mqtt: { publish: ['${config.nothing}/#'] } }, { mqtt: { publish: ['a'] } }, ['publish a']],
  // A filter's asterisk is a name like others.
  [{ mqtt: { publish: ['*'] } }, { mqtt: { publish: ['a'] } }, ['publish a']],
  [{ mqtt: { subscribe: ['*'] } }, { mqtt: { subscribe: ['a'] } }, ['subscribe a']],
  [{ mqtt: { subscribe: ['a/+'] } }, { mqtt: { publish: ['a/b'] } }, ['publish a/b']],
  // A kind says nothing of another one.
  [{ plugins: ['*'] }, { hosts: ['a.example'] }, ['host a.example']],
  [{ serial: ['*'] }, { discovery: ['_hue._tcp'] }, ['discovery _hue._tcp']],
  [{}, { hooks: 'public' }, ['hooks public']],
]

test('so is another plugin, port, service, topic and way in', () => {
  for (const [had, has, more] of others) {
    assert.deepEqual(added(had, has), more, `${JSON.stringify(had)} → ${JSON.stringify(has)}`)
  }
})

test('a plugin is meant by its id, by its namespace, and by an asterisk', () => {
  const meant = ['*', '@x/*', '@x/one', '@x/one2', '@x/', '@y/*', 'one'].filter((pattern) =>
    pluginMatches(pattern, '@x/one'),
  )
  assert.deepEqual(meant, ['*', '@x/*', '@x/one'])
})

test('a plugin that may do everything is given nothing more, but for what it sets of others and reads of the environment', () => {
  const has: Permissions = {
    hosts: ['*'],
    plugins: ['*'],
    mqtt: { publish: ['a/#', 'host/plugins/+/+/controls/+/set'], subscribe: ['#', 'host/#'] },
    environment: ['KEY'],
  }
  assert.deepEqual(added(null, has), ['publish host/plugins/+/+/controls/+/set', 'environment KEY'])
  assert.deepEqual(added(has, null), ['everything *'])
  const variable = (name: string) => grant({ environment: [name] })
  assert.deepEqual(permissionChanges(variable('*'), variable('KEY')).added, [
    { kind: 'environment', value: 'KEY' },
  ])
})

test('what is gone is told as the manifest had it, and of a plugin that was not there all is new', () => {
  const had = grant({ hosts: ['${config.address}', 'b.example'] })
  const has = grant({ hosts: ['meter.example'] })
  assert.deepEqual(permissionChanges(had, has), {
    added: [],
    removed: [{ kind: 'host', value: 'b.example' }],
  })
  assert.deepEqual(permissionChanges(undefined, had), {
    added: [
      { kind: 'host', value: '${config.address}' },
      { kind: 'host', value: 'b.example' },
    ],
    removed: [],
  })
})

test('a version that is led elsewhere by what its settings say, as by another default, is told of', () => {
  const reference = ['${config.to}']
  const lists: Permissions[] = [
    { hosts: reference },
    { plugins: reference },
    { serial: reference },
    { discovery: reference },
    { mqtt: { publish: reference } },
    { mqtt: { subscribe: reference } },
  ]
  for (const permissions of lists) {
    const led = (to: string) => ({
      permissions,
      config: { to: permissions.plugins === undefined ? to : `@x/${to}` },
      variables: [],
    })
    const { added, removed } = permissionChanges(led('one'), led('two'))
    assert.deepEqual([added.length, removed.length], [1, 1], JSON.stringify(permissions))
  }
})
