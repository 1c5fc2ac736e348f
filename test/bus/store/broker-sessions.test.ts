import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { filterMatches } from '../../../src/base/topic-filter.ts'
import { bytesOfFilter, subscriptionBytesLimits } from '../../../src/bus/broker-limits.ts'
import { createBrokerSessions } from '../../../src/bus/store/broker-sessions.ts'

function create(connected: readonly string[] = []) {
  const warnings: string[] = []
  const sessions = createBrokerSessions({
    ...{ root: 'host', firstNumber: 100, isConnected: (client) => connected.includes(client) },
    disk: { set: () => undefined, delete: () => undefined, writes: 0 },
    warn: (message) => void warnings.push(message),
  })
  return { sessions, warnings }
}

test('what is read late from the disk does not take the message id of what is under way meanwhile, nor is it lost by it', () => {
  const { sessions } = create()
  const client = 'sleeper'
  const payload = Buffer.from('.')
  sessions.subscribe(client, { topic: '#', qos: 1 })
  const present = { cmd: 'publish', topic: 'new', payload, qos: 1, retain: false } as const
  sessions.enqueue([client], { ...present, brokerId: 'b', brokerCounter: 1 }, payload)
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

const client = fc.constantFrom('one', 'two', 'three')
const filter = fc.constantFrom('a', 'a/b', 'a/+', 'a/#', '+/b', '#', '+', '$x/b')
const qos = fc.constantFrom(0, 1, 2)
const step = fc.oneof(
  fc.record({ kind: fc.constant('subscribe' as const), client, filter, qos }),
  fc.record({ kind: fc.constant('unsubscribe' as const), client, filter }),
  fc.record({ kind: fc.constant('forget' as const), client }),
  fc.record({ kind: fc.constant('ask' as const), topic: fc.constantFrom('a', 'a/b', 'c', '$x/b') }),
)

test('a message waits for each client with a filter of QoS 1 or 2 that matches, once, with the highest', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const { sessions } = create()
      const held = new Map<string, { client: string; filter: string; qos: 0 | 1 | 2 }>()
      for (const each of steps) {
        if (each.kind === 'subscribe') {
          held.set(`${each.client} ${each.filter}`, each as never)
          sessions.subscribe(each.client, { topic: each.filter, qos: each.qos as 0 | 1 | 2 })
        } else if (each.kind === 'unsubscribe') {
          held.delete(`${each.client} ${each.filter}`)
          sessions.unsubscribe(each.client, [each.filter])
        } else if (each.kind === 'forget') {
          for (const [key, one] of held) if (one.client === each.client) held.delete(key)
          sessions.forget(each.client)
        } else {
          const best: Record<string, number> = {}
          for (const one of held.values())
            if (one.qos > (best[one.client] ?? 0) && filterMatches(one.filter, each.topic))
              best[one.client] = one.qos
          assert.deepEqual(
            Object.fromEntries(sessions.waitingFor(each.topic).map((one) => [one.clientId, one.qos])),
            best,
          )
        }
      }
    }),
  )
})

test('clients that are away are forgotten, the oldest first, where all filters together would take too much memory', () => {
  const { sessions, warnings } = create(['awake'])
  const long = (name: string): string => `${name}/${'x'.repeat(60_000)}`
  const each = 100
  const fitting = Math.floor(subscriptionBytesLimits.clients / bytesOfFilter(long('00')) / each)
  const subscribe = (name: string): void => {
    for (let number = 0; number < each; number += 1)
      sessions.subscribe(name, { topic: long(String(number).padStart(2, '0')), qos: 1 })
  }
  subscribe('awake')
  for (let number = 1; number < fitting; number += 1) subscribe(`away-${number}`)
  assert.deepEqual(warnings, [])
  subscribe('last')
  assert.equal(warnings.length, 1)
  const counts = ['awake', 'away-1', 'away-2', 'last'].map((name) => sessions.subscriptionsOf(name).length)
  assert.deepEqual(counts, [each, 0, each, each])
  // Who is forgotten gives its room back.
  sessions.forget('away-2')
  subscribe('another')
  assert.equal(warnings.length, 1)
})
