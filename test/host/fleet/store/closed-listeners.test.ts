import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../../src/base/time/clock.ts'
import { createClosedListeners } from '../../../../src/host/fleet/store/closed-listeners.ts'
import { fold, initialState } from '../../../../src/journal/fold/evolve.ts'
import { stampFacts } from '../../../../src/journal/fold/stamp.ts'
import { until } from '../../../helpers/until.ts'

test('the hosts of a fleet and its store are closed to plugins, by every address that their names have', async (t) => {
  const facts = [
    ['a', 'http://10.0.0.5:3000'],
    ['b', 'https://cellar.example'],
  ].map(([host = '', address = '']) => ({
    type: 'HostJoined' as const,
    plugin: null,
    data: { host, hostVersion: '1.0.0', address, labels: [] },
  }))
  const stamped = stampFacts(initialState(), facts, { by: 'startup', now: 0, requestKey: undefined })
  assert.ok(typeof stamped !== 'string')
  const state = fold(stamped.steps.map(({ event }) => event))
  const closed = createClosedListeners({
    servers: ['nats://store.example', 'nats://10.0.0.9:14222'],
    state: () => state,
    clock: systemClock,
    find: async (name) => (name === 'store.example' ? ['10.0.0.7'] : ['10.0.0.8', 'fd00::8']),
  })
  t.after(() => closed.close())
  assert.deepEqual([...closed.ports()].sort(), [14_222, 3_000, 4_222, 443])
  await until('the names', async () => closed.addresses().length === 5)
  assert.deepEqual([...closed.addresses()].sort(), [
    '10.0.0.5',
    '10.0.0.7',
    '10.0.0.8',
    '10.0.0.9',
    'fd00::8',
  ])
})
