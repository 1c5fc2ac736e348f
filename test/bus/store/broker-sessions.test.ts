import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBrokerSessions } from '../../../src/bus/store/broker-sessions.ts'

test('what is read late from the disk does not take the message id of what is under way meanwhile, nor is it lost by it', () => {
  const sessions = createBrokerSessions({
    ...{ root: 'host', firstNumber: 100, isConnected: () => true },
    disk: { set: () => undefined, delete: () => undefined },
    warn: () => undefined,
  })
  const client = 'sleeper'
  const payload = Buffer.from('.')
  sessions.subscribe(client, [{ topic: '#', qos: 1 }])
  const present = { cmd: 'publish', topic: 'new', payload, qos: 1, retain: false } as const
  sessions.enqueue(client, { ...present, brokerId: 'b', brokerCounter: 1 }, payload)
  sessions.sending(client, { ...present, brokerId: 'b', brokerCounter: 1, messageId: 1 })
  sessions.restore({ kind: 'queued', client, number: 7, topic: 'old', qos: 1, messageId: 1, payload })
  sessions.restore({ kind: 'released', client, number: 8, messageId: 1 })
  sessions.restored()
  assert.equal(sessions.confirmed(client, 1)?.topic, 'new')
  // It is sent as if it were new.
  assert.deepEqual(
    sessions.queueOf(client).map(({ topic, messageId, dup }) => [topic, messageId, dup]),
    [['old', undefined, false]],
  )
})
