import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isRequest,
  mayClientPublish,
  mayHear,
  mayHearAll,
  mayPluginSubscribe,
  mayReceive,
  mayStayRetained,
  maySubscribe,
  permissionCovers,
  publishRefusal,
  type PluginTopicRights,
  withRoot,
} from '../../../src/schema/manifest/topic-rights.ts'

const publishing: [topic: string, allowed: boolean][] = [
  ['anything', true],
  ['zigbee2mqtt/lamp/set', true],
  ['/leading', true],
  ['hosts/status', true],
  ['homeassistant/device/x/config', true],
  ['other/host/status', true],
  ['$share/x', true],
  ['other/$SYS/x', true],
  ['host/plugins/@a/b/controls/lamp/set', true],
  ['host/plugins/@a/b/exposed/lamp/brightness/set', true],
  ['host/plugins/@a/b/exposed/lamp', false],
  ['host/plugins/@a/b/exposed/lamp/set', false],
  ['host/plugins/@a/b/exposed/lamp/state/set/x', false],
  ['host/plugins/@a/b/exposed//state/set', false],
  ['host/request/toggle', true],
  ['host/request/unknown-verb', true],
  ['host', false],
  ['host/', false],
  ['host/status', false],
  ['host/lifecycle', false],
  ['host/anything', false],
  ['host/response/toggle', false],
  ['host/request', false],
  ['host/request/', false],
  ['host/request/a/b', false],
  ['host/plugins/@a/b/state', false],
  ['host/plugins/@a/b/controls/lamp', false],
  ['host/plugins/@a/b/controls/set', false],
  ['host/plugins/@a/b/controls//set', false],
  ['host/plugins/@a/b/controls/x/y/set', false],
  ['host/plugins/a/b/controls/lamp/set', false],
  ['host/plugins/@a/b/events/lamp/set', false],
  ['$SYS', false],
  ['$SYS/broker/x', false],
  ['', false],
  ['a/#', false],
  ['a/+/b', false],
  ['a\u0000b', false],
  ['x'.repeat(65_536), false],
  [Array(101).fill('x').join('/'), false],
]

test('Clients publish anywhere, but below the root only commands', () => {
  assert.deepEqual(
    publishing.map(([topic]) => [topic, mayClientPublish('host', topic)]),
    publishing,
  )
})

test('A root of several levels protects what is below all of them', () => {
  const root = 'my/house'
  assert.deepEqual(
    ['my', 'my/garden', 'my/house', 'my/house/status', 'my/house/request/list', 'house/status'].filter(
      (topic) => mayClientPublish(root, topic),
    ),
    ['my', 'my/garden', 'my/house/request/list', 'house/status'],
  )
})

test('Subscribing is free, except to the broker’s internals and to what is no filter', () => {
  const filters = ['#', '+/x', 'host/#', 'a', '$share/a', '$SYS', '$SYS/#', '', 'a#', 'a/#/b', 'a+']
  assert.deepEqual(filters.filter(maySubscribe), ['#', '+/x', 'host/#', 'a', '$share/a'])
})

test('A wildcard in the first level means no topic that begins with a dollar sign', () => {
  assert.equal(mayReceive('#', '$SYS/x'), false)
  assert.equal(mayReceive('$SYS/#', '$SYS/x'), false)
  assert.equal(mayReceive('#', '$other'), false)
  assert.equal(mayReceive('$other', '$other'), true)
  assert.equal(mayReceive('#', 'x'), true)
})

test('Commands to the host are told from everything else', () => {
  const topics = [
    'host/request/config',
    'host/request/x',
    'host/request',
    'host/request/a/b',
    'other/request/config',
  ]
  assert.deepEqual(
    topics.filter((topic) => isRequest('host', topic)),
    ['host/request/config', 'host/request/x', 'host/request/a/b'],
  )
})

const root = 'host'
const plugin = '@a/own'
const own = 'host/plugins/@a/own/controls/lamp/set'
const others = 'host/plugins/@b/other/controls/lamp/set'
const shown = 'host/plugins/@b/other/exposed/lamp/state/set'
const announcement = 'homeassistant/device/box_b_other/config'
const announces = { prefix: 'homeassistant', host: 'box' }

/** What a plugin may publish to, with these filters in `permissions.mqtt.publish`; undefined: no permissions at all. */
const pluginPublishing: [publish: string[] | undefined, topics: string[]][] = [
  [undefined, ['free/topic', '$other', own]],
  [[], [own]],
  [['#'], ['free/topic', own]],
  [
    ['+/plugins/+/+/controls/+/set', '+/request/#', 'free/+'],
    ['free/topic', own],
  ],
  [['host/#'], [own, others, shown]],
  [['host/plugins/+/+/controls/+/set'], [own, others]],
  [
    ['#', others],
    ['free/topic', own, others],
  ],
  [['host/request/#', 'host/status'], [own]],
]

test('A plugin commands another one only if its permissions name that below the root, and the host never', () => {
  const topics = [
    ...['free/topic', '$other', own, others, shown, announcement],
    ...[
      'host',
      'host/status',
      'host/request/config',
      'host/request/x/y',
      'host/response/list',
      '$SYS/x',
      'a/#',
      '',
    ],
    ...['host/plugins/@a/own/state', 'host/plugins/@b/other/controls/lamp'],
  ]
  assert.deepEqual(
    pluginPublishing.map(([publish]) => [
      publish,
      topics.filter((topic) => {
        const permitted = publish === undefined ? undefined : { publish, subscribe: [] }
        return publishRefusal({ root, plugin, announces, permitted }, topic) === undefined
      }),
    ]),
    pluginPublishing,
  )
  const refused = (topic: string) => publishRefusal({ root, plugin, announces }, topic)
  assert.deepEqual(
    [refused(others), refused('host/request/config'), refused(announcement), refused('host/status')],
    ['permission', 'host', 'host', 'host'],
  )
})

test('A wildcard before the root lets a plugin hear nothing below it but what is its own', () => {
  const hears = (subscribe: string[] | undefined, filter: string, topic: string): boolean => {
    const rights: PluginTopicRights = {
      root,
      plugin,
      permitted: subscribe === undefined ? undefined : { publish: [], subscribe },
    }
    return mayPluginSubscribe(rights, filter) && mayHear(rights, filter, topic)
  }
  const cases: [subscribe: string[] | undefined, filter: string, topic: string, hears: boolean][] = [
    [undefined, '#', 'host/plugins/@b/other/log', true],
    [undefined, '#', 'host/request/config', false],
    [undefined, 'host/request/#', 'host/request/config', false],
    [['#'], '#', 'free/topic', true],
    [['#'], '#', 'host/plugins/@b/other/log', false],
    [['#'], '#', 'host/plugins/@a/own/log', true],
    [['#'], 'host/plugins/#', 'host/plugins/@b/other/log', false],
    [['#', 'host/plugins/+/+/log'], '#', 'host/plugins/@b/other/log', true],
    [['#', 'host/plugins/+/+/log'], '#', 'host/plugins/@b/other/state', false],
    [['host/#'], 'host/plugins/#', 'host/plugins/@b/other/log', true],
    [['host/#'], '#', 'host/plugins/@b/other/log', false],
    [[], 'host/plugins/@a/own/#', 'host/plugins/@a/own/log', true],
  ]
  assert.deepEqual(
    cases.map(([subscribe, filter, topic]) => [subscribe, filter, topic, hears(subscribe, filter, topic)]),
    cases,
  )
  const permitted = { publish: [], subscribe: ['#', '+/#'] }
  const filters = ['#', '+/#', '+/plugins/x', 'other/#', 'free/+', '+']
  assert.deepEqual(
    filters.filter((filter) => mayHearAll({ root, plugin, permitted }, filter)),
    ['other/#', 'free/+', '+'],
  )
  assert.ok(mayHearAll({ root, plugin }, '#'))
})

test('What is retained stays where its publisher may say it with the root of today', () => {
  const table: [topic: string, ofClient: boolean, ofPlugin: boolean][] = [
    ['lamp/state', true, true],
    ['hosts', true, true],
    ['host', false, false],
    ['$SYS/broker/version', false, false],
    ['lamp/+', false, false],
    ['', false, false],
    ['host/plugins/@a/b/objects/lamp', false, true],
    ['host/plugins/@a/b/controls/lamp/set', false, false],
    ['host/request/toggle', false, false],
  ]
  const stays = (publisher: 'client' | 'plugin', topic: string): boolean =>
    mayStayRetained('host', publisher, topic)
  assert.deepEqual(
    table.map(([topic]) => [topic, stays('client', topic), stays('plugin', topic)]),
    table,
  )
})

test('What is outside of the root is heard without a further look, and all of it only with permission', () => {
  const rights = {
    root: 'host',
    plugin: '@a/b',
    permitted: { publish: [], subscribe: ['+/state', 'lamp/#'] },
  }
  const mayNot = (): boolean => false
  assert.equal(mayHear(rights, '+/state', 'lamp/state', mayNot), true)
  assert.equal(mayHear(rights, '+/state', 'host/state', mayNot), false)
  const filters: [filter: string, all: boolean][] = [
    ['lamp/#', true],
    ['heating/#', false],
    ['+/state', false],
    ['$SYS/#', false],
  ]
  assert.deepEqual(
    filters.map(([filter]) => [filter, mayHearAll(rights, filter)]),
    filters,
  )
  assert.equal(mayHearAll({ root: 'host', plugin: '@a/b' }, '$SYS/#'), false)
})

test('Manifests write the root as host, whatever it is called', () => {
  const written = ['host/plugins/+/+/controls/+/set', 'host/#', 'hosts/x', '#', '+/x', 'host']
  assert.deepEqual(
    written.map((filter) => withRoot('my/house', filter)),
    ['my/house/plugins/+/+/controls/+/set', 'my/house/#', 'hosts/x', '#', '+/x', 'host'],
  )
  assert.deepEqual(
    [permissionCovers('#', 'a/b'), permissionCovers('#', 'host/x'), permissionCovers('host/#', 'host/x')],
    [true, false, true],
  )
})
