import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isTopic } from '../../../src/base/topic-filter.ts'
import {
  createTopics,
  decodeLevel,
  discoveryTopic,
  isDiscoveryTopicOf,
  encodeLevel,
} from '../../../src/schema/names/topics.ts'

const clock = '@starter/clock'

test('Every topic has the name that the contract gives it', () => {
  const topics = createTopics('host')
  assert.deepEqual(
    [
      topics.status,
      topics.lifecycle,
      topics.state(clock),
      topics.event(clock, 'weather:changed'),
      topics.event(clock, 'a/b+c#100%\n'),
      topics.object(clock, 'weather.now'),
      topics.object(clock, 'a/b'),
      topics.sensor(clock, 'température'),
      topics.control(clock, 'lamp'),
      topics.controlSet(clock, 'lamp'),
      topics.log(clock),
      topics.request('toggle'),
      topics.response('toggle'),
      discoveryTopic('homeassistant', 'attic', { namespace: 'starter', shortId: 'clock.v2' }),
    ],
    [
      'host/status',
      'host/lifecycle',
      'host/plugins/@starter/clock/state',
      'host/plugins/@starter/clock/events/weather:changed',
      'host/plugins/@starter/clock/events/a%2Fb%2Bc%23100%25%0A',
      'host/plugins/@starter/clock/objects/weather.now',
      'host/plugins/@starter/clock/objects/a%2Fb',
      'host/plugins/@starter/clock/sensors/température',
      'host/plugins/@starter/clock/controls/lamp',
      'host/plugins/@starter/clock/controls/lamp/set',
      'host/plugins/@starter/clock/log',
      'host/request/toggle',
      'host/response/toggle',
      'homeassistant/device/attic_starter_clock_v2/config',
    ],
  )
})

test('What a host says to Home Assistant of its plugins is told from what anybody else says there', () => {
  const topics = [
    discoveryTopic('ha', 'my attic', { namespace: 'starter', shortId: 'clock.v2' }),
    'ha/device/my_attic_anything/config',
    'ha/device/cellar_starter_clock/config',
    'ha/device/my_attic/config',
    'ha/device/my_attic_x/state',
    'ha/sensor/my_attic_x/config',
    'other/device/my_attic_x/config',
  ]
  assert.deepEqual(
    topics.map((topic) => isDiscoveryTopicOf('ha', 'my attic', topic)),
    [true, true, false, false, false, false, false],
  )
})

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('a', '%', '2', 'F', '/', '+', '#', '\u0000', '\u0085', '\ud800', '\udc00'),
  }),
)

test('Any text becomes one valid topic level, and different texts become different levels', () => {
  fc.assert(
    fc.property(anyText, anyText, (one, other) => {
      const level = encodeLevel(one)
      assert.equal(isTopic(`x/${level}`), true)
      assert.equal(level.includes('/'), false)
      assert.equal(Buffer.from(level).toString(), level)
      if (one !== other) assert.notEqual(level, encodeLevel(other))
    }),
  )
})

test('A level reads back as the text it was made of, and any other level is none', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => assert.equal(decodeLevel(encodeLevel(text)), text)),
  )
  assert.deepEqual(['%', '%2', '%zz', '%41', '%2f', 'a+b'].map(decodeLevel), Array(6).fill(undefined))
})

test('Half of a surrogate pair has the three bytes that its number would have, whole pairs stay', () => {
  assert.deepEqual(['\ud7ff', '\ud800', '\udbff', '\udc00', '\udfff', '\ue000', '😀'].map(encodeLevel), [
    '\ud7ff',
    '%ED%A0%80',
    '%ED%AF%BF',
    '%ED%B0%80',
    '%ED%BF%BF',
    '\ue000',
    '😀',
  ])
})

test('Commands are read from their topics, and nothing else is one', () => {
  const topics = createTopics('my/house')
  assert.deepEqual(
    [
      'my/house/plugins/@a/b/controls/lamp/set',
      'my/house/plugins/@a/b/controls/a%2Fb/set',
      'my/house/plugins/@a/b/controls//set',
      'my/house/plugins/@a/b/controls/lamp',
      'my/house/plugins/@a/b/controls/lamp/set/x',
      'my/house/plugins/@a/b/sensors/lamp/set',
      'my/house/plugins/a/b/controls/lamp/set',
      'my/house/plugins/@a/controls/lamp/set',
      'house/plugins/@a/b/controls/lamp/set',
    ].map(topics.parseControlSet),
    [{ plugin: '@a/b', control: 'lamp' }, { plugin: '@a/b', control: 'a/b' }, ...Array(7).fill(undefined)],
  )
  assert.deepEqual(
    [
      'my/house/plugins/@a/b/exposed/lamp/state/set',
      'my/house/plugins/@a/b/exposed/a%2Fb/c%23/set',
      'my/house/plugins/@a/b/exposed/lamp',
      'my/house/plugins/@a/b/exposed/lamp/set',
      'my/house/plugins/@a/b/exposed/lamp/state/get',
      'my/house/plugins/@a/b/exposed/lamp/state/set/x',
      'my/house/plugins/@a/b/exposed//state/set',
      'my/house/plugins/@a/b/exposed/lamp//set',
      'my/house/plugins/@a/b/controls/lamp/state/set',
    ].map(topics.parseExposedSet),
    [
      { plugin: '@a/b', exposure: 'lamp', feature: 'state' },
      { plugin: '@a/b', exposure: 'a/b', feature: 'c#' },
      ...Array(7).fill(undefined),
    ],
  )
  assert.deepEqual(
    ['my/house/request/list', 'my/house/request/', 'my/house/request/a/b', 'my/house/requests/list'].map(
      topics.parseRequest,
    ),
    ['list', undefined, undefined, undefined],
  )
})
