import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type BrokerRecord,
  brokerRecordKey,
  decodeBrokerRecord,
  encodeBrokerRecord,
  keyOfBrokerRecord,
} from '../../../src/schema/files/broker-record.ts'

const payload = Buffer.from([0, 1, 255])
const records: BrokerRecord[] = [
  { kind: 'retained', topic: 'a/ä', qos: 1, publisher: { kind: 'plugin', id: '@a/b' }, payload },
  { kind: 'retained', topic: 'a', qos: 0, publisher: { kind: 'client', address: '192.0.2.1' }, payload },
  { kind: 'session', client: 'c', number: 1, subscriptions: [{ topic: '#', qos: 2 }] },
  { kind: 'queued', client: 'c', number: 2, topic: 't', qos: 2, payload },
  { kind: 'queued', client: 'c', number: 3, topic: 't', qos: 1, messageId: 65_535, payload: Buffer.alloc(0) },
  { kind: 'released', client: 'c', number: 4, messageId: 1 },
  { kind: 'position', client: 'c', number: 5 },
  { kind: 'shared', number: 6, topic: 't', qos: 1, clients: ['c', null, 'd'], payload },
  { kind: 'unreleased', client: 'c', messageIds: [1, 2] },
  { kind: 'will', client: 'c', address: '', topic: 't', qos: 0, retain: true, payload },
]

test('Every record is read as it was written, and none of which a bit has changed or an end is missing', () => {
  for (const record of records) {
    const bytes = encodeBrokerRecord(record)
    assert.deepEqual(decodeBrokerRecord(bytes), record)
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const damaged = Buffer.from(bytes)
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.equal(decodeBrokerRecord(damaged), undefined)
    }
    for (let length = 0; length < bytes.length; length += 1)
      assert.equal(decodeBrokerRecord(bytes.subarray(0, length)), undefined)
  }
})

test('Whatever bytes there are, reading them does not throw', () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => decodeBrokerRecord(Buffer.from(bytes)) === undefined))
})

test('The keys have the order in which the records are read: sessions before what waits for them, by number, and what is shared last', () => {
  assert.deepEqual(records.map(keyOfBrokerRecord).sort(), [
    'client/c',
    'position/c',
    'queued/0000000000000002',
    'queued/0000000000000003',
    'queued/0000000000000004',
    'retained/a',
    'retained/a/ä',
    'shared/0000000000000006',
    'unreleased/c',
    'will/c',
  ])
  assert.ok(brokerRecordKey('queued', 9) < brokerRecordKey('queued', 10))
})
