import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRequest, mayPublish, mayReceive, maySubscribe } from '../../src/bus/acl.ts'

const publishing: [topic: string, allowed: boolean][] = [
  ['anything', true],
  ['zigbee2mqtt/lamp/set', true],
  ['/leading', true],
  ['hosts/status', true],
  ['homeassistant/device/x/config', true],
  ['other/host/status', true],
  ['$share/x', true],
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

test('Clients and plugins publish anywhere, but below the root only commands', () => {
  assert.deepEqual(
    publishing.map(([topic]) => [topic, mayPublish('host', topic)]),
    publishing,
  )
})

test('A root of several levels protects what is below all of them', () => {
  const root = 'my/house'
  assert.deepEqual(
    ['my', 'my/garden', 'my/house', 'my/house/status', 'my/house/request/list', 'house/status'].filter(
      (topic) => mayPublish(root, topic),
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
