import assert from 'node:assert/strict'
import { test } from 'node:test'
import { subscriptionsPerClientLimit } from '../../../src/bus/broker-limits.ts'
import { createGrantedSubscriptions } from '../../../src/bus/embedded/granted-subscriptions.ts'

test('A message comes with its QoS, or with the highest of the filters that match, if that is less', () => {
  const granted = createGrantedSubscriptions()
  const client = {}
  for (const [filter, qos] of [
    ['#', 0],
    ['a/+', 1],
    ['a/b', 2],
    ['c', 1],
  ] as const)
    granted.grant(client, filter, qos)
  const cases = [
    ['a/b', 0, 0],
    ['a/b', 1, 1],
    ['a/b', 2, 2],
    ['a/c', 1, 1],
    ['a/c', 2, 1],
    ['c', 2, 1],
    ['d', 2, 0],
    ['$d', 2, 2],
  ] as const
  for (const [topic, qos, expected] of cases)
    assert.equal(granted.qosFor(client, topic, qos), expected, topic)
  granted.revoke(client, ['a/b'])
  assert.equal(granted.qosFor(client, 'a/b', 2), 1)
  assert.equal(granted.qosFor({}, 'a/b', 2), 2)
})

test('A client has only so many filters, all of one request included; another QoS for one of them is no more', () => {
  const granted = createGrantedSubscriptions()
  const client = {}
  for (let number = 0; number < subscriptionsPerClientLimit; number += 1)
    assert.ok(granted.grant(client, `x/${number}`, 1))
  assert.ok(!granted.grant(client, 'more', 1))
  assert.ok(granted.grant(client, 'x/0', 2))
  granted.revoke(client, ['x/0'])
  assert.ok(granted.grant(client, 'more', 1))
  assert.ok(granted.grant({}, 'more', 1))
})
