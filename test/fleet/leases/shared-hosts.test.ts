import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseHosts, type Placement } from '../../../src/fleet/leases/placement.ts'
import { initialLeaseState, type LeaseState } from '../../../src/fleet/leases/state.ts'
import { candidatesOf, groupsOf, homesOf } from '../../../src/fleet/leases/views.ts'

/** Where plugins go that share a host, on the hosts `a`, `b` and `c`; `c` has the label `serial`. */

const sessionOf = (host: string): string => `0-${host}-0`

function stateWith(wanted: Record<string, Placement>, leases: Record<string, string>): LeaseState {
  const seen = <T>(record: T, revision: number) => ({ record, revision, at: 0 })
  return {
    ...initialLeaseState({ host: 'a', process: 'x' }),
    hosts: new Map(
      ['a', 'b', 'c'].map((host, index) => [host, seen({ session: sessionOf(host), n: 0 }, index + 1)]),
    ),
    leases: new Map(
      Object.entries(leases).map(([plugin, host], index) => [
        plugin,
        seen({ host, session: sessionOf(host), epoch: 1 }, index + 1),
      ]),
    ),
    descriptions: new Map([['c', { labels: ['serial'], draining: false }]]),
    wanted: new Map(Object.entries(wanted)),
  }
}

const together = (placement: Placement = {}): Placement => ({ ...placement, together: 'base' })

const cases: {
  title: string
  wanted: Record<string, Placement>
  leases: Record<string, string>
  home: string | undefined
}[] = [
  {
    title: 'where the one is that the group is called after',
    wanted: { base: together(), above: together() },
    leases: { base: 'b', above: 'a' },
    home: 'b',
  },
  {
    title: 'where one of them has to be, though the one that it is called after is elsewhere',
    wanted: { base: together(), above: together({ host: 'a' }) },
    leases: { base: 'b', above: 'a' },
    home: 'a',
  },
  {
    title: 'where none of them is yet, if that is the only host for all',
    wanted: { base: together(), above: together({ labels: ['serial'] }) },
    leases: { base: 'b', above: 'b' },
    home: 'c',
  },
  {
    title: 'where the first one is, if no host is one for all',
    wanted: { base: together({ host: 'b' }), above: together({ host: 'a' }) },
    leases: { base: 'b', above: 'a' },
    home: 'b',
  },
  {
    title: 'nowhere yet',
    wanted: { base: together(), above: together({ host: 'c' }) },
    leases: {},
    home: undefined,
  },
]

for (const { title, wanted, leases, home } of cases) {
  test(`plugins that share a host belong ${title}`, () => {
    const state = stateWith(wanted, leases)
    assert.equal(homesOf(state, candidatesOf(state, 1)).get('base'), home)
  })
}

test('plugins that nobody has go where all of their group may run, wherever the first of them could go', () => {
  const chosen = (wanted: Record<string, Placement>): unknown => {
    const state = stateWith(wanted, {})
    const candidates = candidatesOf(state, 1)
    return Object.fromEntries(
      chooseHosts(state.wanted, candidates, { homes: homesOf(state, candidates), groups: groupsOf(state) }),
    )
  }
  assert.deepEqual(chosen({ base: together(), above: together({ labels: ['serial'] }), other: {} }), {
    ...{ base: 'c', above: 'c', other: 'a' },
  })
  assert.deepEqual(chosen({ base: together(), above: together({ host: 'd' }) }), { base: 'a' })
  assert.deepEqual(chosen({ base: together({ host: 'b' }), above: together({ host: 'a' }) }), {
    ...{ base: 'b', above: 'a' },
  })
})
