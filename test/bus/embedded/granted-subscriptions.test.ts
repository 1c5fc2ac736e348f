import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PassThrough } from 'node:stream'
import {
  bytesOfFilter,
  subscriptionBytesLimits,
  subscriptionsPerClientLimit,
} from '../../../src/bus/broker-limits.ts'
import { createGrantedSubscriptions } from '../../../src/bus/embedded/granted-subscriptions.ts'

/** A client is nothing but its connection here. */
const createClient = () => ({ conn: new PassThrough() })
const atOneAddress = () => '192.0.2.1'

test('A message comes with its QoS, or with the highest of the filters that match, if that is less', () => {
  const granted = createGrantedSubscriptions(atOneAddress)
  const client = createClient()
  for (const [filter, qos] of [
    ['#', 0],
    ['a/+', 1],
    ['a/b', 2],
    ['c', 1],
  ] as const)
    assert.equal(granted.grant(client, filter, qos), undefined)
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
  // Asked for anew with another one.
  granted.grant(client, 'c', 0)
  assert.equal(granted.qosFor(client, 'c', 2), 0)
  assert.equal(granted.qosFor(createClient(), 'a/b', 2), 2)
})

test('Where all filters of a client have one QoS, that is the highest with which a message comes', () => {
  const granted = createGrantedSubscriptions(atOneAddress)
  const client = createClient()
  for (const filter of ['a/+', 'a/b']) granted.grant(client, filter, 1)
  assert.deepEqual(
    [0, 1, 2].map((qos) => granted.qosFor(client, 'a/b', qos as 0 | 1 | 2)),
    [0, 1, 1],
  )
  granted.revoke(client, ['a/+', 'a/b', 'never'])
  granted.grant(client, 'a/b', 2)
  assert.equal(granted.qosFor(client, 'a/b', 2), 2)
})

test('A client has only so many filters, all of one request included; another QoS for one of them is no more', () => {
  const granted = createGrantedSubscriptions(atOneAddress)
  const client = createClient()
  for (let number = 0; number < subscriptionsPerClientLimit; number += 1)
    assert.equal(granted.grant(client, `x/${number}`, 1), undefined)
  assert.match(granted.grant(client, 'more', 1) ?? '', /the client has as many/)
  assert.equal(granted.grant(client, 'x/0', 2), undefined)
  granted.revoke(client, ['x/0'])
  assert.equal(granted.grant(client, 'more', 1), undefined)
  assert.equal(granted.grant(createClient(), 'more', 1), undefined)
})

test('All clients of an address, and all together, have memory for only so many filters; who goes gives its room back', async () => {
  const addresses = new WeakMap<object, string>()
  const createAt = (address: string) => {
    const client = createClient()
    addresses.set(client, address)
    return client
  }
  const each = bytesOfFilter('x/0')
  const granted = createGrantedSubscriptions((client) => addresses.get(client) ?? '', {
    address: 3 * each,
    clients: 4 * each,
  })
  const [first, second, third] = [createAt('a'), createAt('a'), createAt('b')] as const
  const grant = (client: typeof first, filter: string) => granted.grant(client, filter, 0) ?? 'granted'
  assert.deepEqual(
    [grant(first, 'x/0'), grant(first, 'x/1'), grant(second, 'x/0'), grant(second, 'x/1')],
    ['granted', 'granted', 'granted', 'the clients at its address have as many as they may'],
  )
  assert.deepEqual(
    [grant(third, 'x/0'), grant(third, 'x/1')],
    ['granted', 'all clients together have as many as they may'],
  )
  // What it has already takes no more.
  assert.equal(grant(first, 'x/1'), 'granted')
  first.conn.destroy()
  assert.equal(grant(first, 'x/2'), 'its connection has ended')
  await new Promise((resolve) => first.conn.once('close', resolve))
  assert.deepEqual(
    [grant(second, 'x/1'), grant(second, 'x/2'), grant(second, 'x/3'), grant(third, 'x/1')],
    [
      'granted',
      'granted',
      'the clients at its address have as many as they may',
      'all clients together have as many as they may',
    ],
  )
  granted.revoke(second, ['x/0', 'x/0'])
  assert.deepEqual(
    [grant(third, 'x/1'), grant(third, 'x/2')],
    ['granted', 'all clients together have as many as they may'],
  )
})

test('An address has room for all that Home Assistant may ask for', () => {
  const filter = 'zigbee2mqtt/a-device-with-a-rather-long-name/availability'
  assert.ok(bytesOfFilter(filter) * subscriptionsPerClientLimit < subscriptionBytesLimits.address)
})
