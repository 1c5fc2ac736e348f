import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initialLeaseState, type LeaseState } from '../../../../src/fleet/leases/state.ts'
import { surplusOf, untakenOf } from '../../../../src/host/fleet/placement/balance.ts'
import type { HostState } from '../../../../src/journal/fold/evolve.ts'

const seen = <T>(record: T) => ({ record, revision: 1, at: 0 })

/** Hosts with so many plugins each, as host `a` sees them, which has a session. */
function fleet(counts: Record<string, number>, withoutBroker: readonly string[]): LeaseState {
  const plugins = Object.entries(counts).flatMap(([host, count]) =>
    Array.from({ length: count }, (_, index) => ({ plugin: `@acme/${host}${index}`, host })),
  )
  const held = { epoch: 1, revision: 1, phase: 'running', isLeaving: false, askedAt: 0 } as const
  return {
    ...initialLeaseState({ host: 'a', process: 'x' }),
    hosts: new Map(Object.keys(counts).map((host) => [host, seen({ session: `0-${host}-0`, n: 1 })])),
    leases: new Map(
      plugins.map(({ plugin, host }) => [plugin, seen({ host, session: `0-${host}-0`, epoch: 1 })]),
    ),
    held: new Map(plugins.filter(({ host }) => host === 'a').map(({ plugin }) => [plugin, held])),
    wanted: new Map(plugins.map(({ plugin }) => [plugin, {}])),
    withoutBroker: new Set(withoutBroker),
  }
}

for (const { title, counts, withoutBroker, given } of [
  { title: 'has three more than another', counts: { a: 3, b: 0 }, withoutBroker: [], given: true },
  { title: 'has two more', counts: { a: 2, b: 0 }, withoutBroker: [], given: false },
  { title: 'is not the fullest', counts: { a: 4, b: 0, c: 5 }, withoutBroker: [], given: false },
  { title: 'has no broker', counts: { a: 3, b: 0 }, withoutBroker: ['a'], given: false },
  { title: 'is alone with the broker', counts: { a: 3, b: 0 }, withoutBroker: ['b'], given: false },
  {
    title: 'is the fullest of those with a broker',
    ...{ counts: { a: 4, b: 0, c: 5 }, withoutBroker: ['c'], given: true },
  },
]) {
  test(`a host that ${title} gives ${given ? 'a plugin' : 'none'} away`, () => {
    assert.equal(surplusOf(fleet(counts, withoutBroker), 1), given ? '@acme/a0' : undefined)
  })
}

test('a host beside one with a full disk gives none away', () => {
  const state = fleet({ a: 3, b: 0 }, [])
  const hosts = new Map(state.hosts).set('b', seen({ session: '0-b-0', n: 1, isFull: true as const }))
  assert.equal(surplusOf({ ...state, hosts }, 1), undefined)
})

/** What its disk has taken of two plugins that the host `a` has. */
const recorded = new Map([
  ['@acme/a0', { context: { host: 'a', epoch: 1 } }],
  ['@acme/a1', { context: { host: 'b', epoch: 0 } }],
]) as unknown as HostState['plugins']

for (const { title, given, changes = {}, other = {} } of [
  { title: 'gives away what it could not write down, and nothing that runs', given: ['@acme/a1'] },
  { title: 'that has room again gives none away', changes: { isFull: false }, given: [] },
  { title: 'gives none to another with a full disk', other: { isFull: true as const }, given: [] },
  { title: 'gives none to another without a broker', changes: { withoutBroker: new Set(['b']) }, given: [] },
  {
    title: 'gives none away that may run nowhere else',
    changes: { wanted: new Map([['@acme/a1', { host: 'a' }]]) },
    given: [],
  },
  {
    title: 'gives none away that would come back to what it shares a host with',
    changes: { wanted: new Map([['@acme/a1', { together: '@acme/a0' }]]) },
    given: [],
  },
])
  test(`a host with a full disk ${title}`, () => {
    const full = { ...fleet({ a: 2, b: 0 }, []), isFull: true, ...changes }
    const hosts = new Map(full.hosts).set('b', seen({ session: '0-b-0', n: 1, ...other }))
    assert.deepEqual(untakenOf({ ...full, hosts }, { plugins: recorded }, 1), given)
  })
