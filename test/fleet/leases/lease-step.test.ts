import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasEnded } from '../../../src/fleet/leases/records.ts'
import { chooseHosts } from '../../../src/fleet/leases/placement.ts'
import {
  type HostDescription,
  initialLeaseState,
  type LeaseEffect,
  type LeaseEvent,
  type LeaseState,
  mayAct,
} from '../../../src/fleet/leases/state.ts'
import { leaseStep } from '../../../src/fleet/leases/step.ts'
import { clockTolerance, leaseTiming } from '../../../src/fleet/leases/timing.ts'

/** The cases of docs/fleet.md, in milliseconds of the host `a`, whose process is called `x`. */

type Happening = readonly [at: number, event: LeaseEvent]

const tick = (at: number): Happening => [at, { type: 'tick' }]
const synced: Happening = [0, { type: 'synced' }]
const wanted = (...plugins: string[]): Happening => [
  0,
  { type: 'wantedChanged', wanted: new Map(plugins.map((plugin) => [plugin, {}])) },
]
const hostSeen = (
  at: number,
  host: string,
  session: string | null,
  n: number,
  revision: number,
): Happening => [at, { type: 'hostSeen', host, record: session === null ? null : { session, n }, revision }]
const leaseSeen = (
  at: number,
  plugin: string,
  host: string | null,
  session: string | null,
  epoch: number,
  revision: number,
): Happening => [at, { type: 'leaseSeen', plugin, record: { host, session, epoch }, revision }]

function run(happenings: readonly Happening[], heirOf: string | null = null) {
  let state: LeaseState = initialLeaseState({ host: 'a', process: 'x', heirOf })
  let last: readonly LeaseEffect[] = []
  for (const [at, event] of happenings) [state, last] = leaseStep(state, event, at)
  return { state, last }
}

const renewal = (n: number, expected: number, session = '0-x-0'): LeaseEffect => ({
  ...{ type: 'writeHost', host: 'a', expected },
  record: { session, n },
})
const lease = (epoch: number, expected: number): LeaseEffect => ({
  ...{ type: 'writeLease', plugin: 'p', expected },
  record: { host: 'a', session: '0-x-0', epoch },
})

/** Host `a` has a session that was renewed at 0. */
const open: Happening[] = [synced, tick(0), hostSeen(5, 'a', '0-x-0', 0, 1)]
/** And runs `p` under epoch 1. */
const running: Happening[] = [wanted('p'), ...open, tick(10), leaseSeen(15, 'p', 'a', '0-x-0', 1, 1)]
/** `b` runs `p` under epoch 4, and was last heard of at 20. */
const ofOther: Happening[] = [
  wanted('p'),
  ...open,
  hostSeen(20, 'b', '0-y-0', 7, 30),
  leaseSeen(20, 'p', 'b', '0-y-0', 4, 9),
]
/** `a` goes on renewing up to 6 s. */
const renewed: Happening[] = [2_000, 4_000, 6_000].flatMap((at, index) => [
  tick(at),
  hostSeen(at + 5, 'a', '0-x-0', index + 1, 31 + index),
])

const leave = (at: number): Happening => [at, { type: 'leave' }]
const withdrawal = (expected: number): LeaseEffect => ({
  ...{ type: 'writeHost', host: 'a', expected },
  record: null,
})
/** `p` has been unloaded, because `a` goes. */
const left: Happening[] = [...running, leave(20), [30, { type: 'stopped', plugin: 'p', epoch: 1 }]]

const withoutBroker = (at: number, ...hosts: string[]): Happening => [
  at,
  { type: 'brokersSeen', withoutBroker: new Set(hosts) },
]
/** Of a plugin that has left a session which the broker has not answered. */
const released = (epoch: number, session: string, host: string) =>
  ({ host, session, epoch, released: true }) as const
const releasedByOther = (at: number, epoch: number, revision: number): Happening => [
  at,
  { type: 'leaseSeen', plugin: 'p', record: released(epoch, '0-y-0', 'b'), revision },
]
/** `b` gives `p` back without an answer of the broker, and `c` has no plugin. Both go on. */
const besideReleased: Happening[] = [
  hostSeen(28, 'c', '0-z-0', 0, 31),
  releasedByOther(30, 4, 10),
  ...[2_000, 4_000, 6_000].flatMap((at, index) => [
    tick(at),
    hostSeen(at + 5, 'a', '0-x-0', index + 1, 40 + 3 * index),
    hostSeen(at + 5, 'b', '0-y-0', index + 8, 41 + 3 * index),
    hostSeen(at + 5, 'c', '0-z-0', index + 1, 42 + 3 * index),
  ]),
]
/** `a` has no broker, and gives `p` away. */
const cutOff: Happening[] = [
  ...running,
  withoutBroker(16, 'a'),
  [20, { type: 'giveBack', plugin: 'p' }],
  [30, { type: 'stopped', plugin: 'p', epoch: 1 }],
]
/** `b` has the broker from 1.5 s on, while `a` goes on renewing up to 4 s. */
const besideOther: Happening[] = [
  hostSeen(1_500, 'b', '0-y-0', 0, 30),
  tick(1_500),
  ...[2_000, 4_000].flatMap((at, index) => [tick(at), hostSeen(at + 5, 'a', '0-x-0', index + 1, 31 + index)]),
]

const cases: { title: string; given: Happening[]; then: LeaseEffect[]; heirOf?: string }[] = [
  {
    title: 'a host that goes unloads its plugins, which have until the end of its session',
    given: [...running, leave(20)],
    then: [{ type: 'stop', plugin: 'p', epoch: 1, until: 6_000 }],
  },
  {
    title: 'goes on renewing its session meanwhile',
    given: [...running, leave(20), tick(2_000)],
    then: [renewal(1, 1)],
  },
  { title: 'and ends it when nothing is left of them', given: left, then: [withdrawal(1)] },
  { title: 'once', given: [...left, tick(1_029)], then: [] },
  { title: 'and again when nothing is heard of that', given: [...left, tick(1_030)], then: [withdrawal(1)] },
  {
    title: 'a host that goes has no session when its record is away',
    given: [...left, hostSeen(40, 'a', null, 0, 2)],
    then: [
      { type: 'kill', plugin: 'p', epoch: 1 },
      { type: 'sessionOver', session: '0-x-0' },
    ],
  },
  {
    title: 'and begins no other one',
    given: [...left, hostSeen(40, 'a', null, 0, 2), tick(10_000)],
    then: [],
  },
  {
    title: 'a host that goes takes nothing any more',
    given: [...open, leave(10), wanted('p'), tick(20)],
    then: [],
  },
  { title: 'nothing is begun before what is there has been seen', given: [tick(0)], then: [] },
  { title: 'a session begins on top of nothing', given: [synced, tick(0)], then: [renewal(0, 0)] },
  {
    title: 'a session begins on top of one that was ended, and is named after its revision',
    given: [hostSeen(0, 'a', null, 0, 50), synced, tick(0)],
    then: [renewal(0, 50, '1e-x-0')],
  },
  {
    title: 'it has begun when its first record is seen',
    given: open,
    then: [{ type: 'sessionBegan', session: '0-x-0' }],
  },
  { title: 'a session is renewed every two seconds', given: [...open, tick(1_999)], then: [] },
  { title: 'and on top of its last record', given: [...open, tick(2_000)], then: [renewal(1, 1)] },
  {
    title: 'a renewal that nothing is heard of is sent again after a second, under the next number',
    given: [...open, tick(2_000), tick(3_000)],
    then: [renewal(2, 1)],
  },
  {
    title: 'the session of the process before, in the same directory, is replaced at once',
    given: [hostSeen(0, 'a', '0-w-0', 3, 9), synced, tick(0)],
    heirOf: 'w',
    then: [renewal(0, 9, '9-x-0')],
  },
  {
    title: 'a session of another directory is waited for',
    given: [hostSeen(0, 'a', '0-w-0', 3, 9), synced, tick(6_699)],
    then: [],
  },
  {
    title: 'and replaced when it is silent',
    given: [hostSeen(0, 'a', '0-w-0', 3, 9), synced, tick(6_700)],
    then: [renewal(0, 9, '9-x-0')],
  },
  {
    title: 'or this host ends when it is renewed: two hosts have one name',
    given: [
      hostSeen(0, 'a', '0-w-0', 3, 9),
      synced,
      hostSeen(2_000, 'a', '0-w-0', 4, 10),
      hostSeen(4_000, 'a', '0-w-0', 5, 11),
      tick(4_001),
    ],
    then: [{ type: 'refuse', rival: '0-w-0' }],
  },
  {
    title: 'a plugin that nobody runs is taken',
    given: [wanted('p'), ...open, tick(10)],
    then: [lease(1, 0)],
  },
  {
    title: 'it starts when the lease is seen to be taken',
    given: running,
    then: [{ type: 'start', plugin: 'p', epoch: 1 }],
  },
  {
    title: 'a lease that was given back is taken without a fence',
    given: [wanted('p'), ...open, leaseSeen(6, 'p', null, null, 4, 8), tick(10)],
    then: [lease(5, 8)],
  },
  { title: 'a lease of a session that lives is left alone', given: [...ofOther, tick(30)], then: [] },
  {
    title: 'a session is not ended too early',
    given: [...ofOther, ...renewed, tick(6_719)],
    then: [],
  },
  {
    title: 'a session that was not renewed for 6.7 s is ended, on top of the record that was seen',
    given: [...ofOther, ...renewed, tick(6_720)],
    then: [{ type: 'writeHost', host: 'b', record: null, expected: 30 }],
  },
  {
    title: 'after its end its connection is closed first',
    given: [...ofOther, ...renewed, hostSeen(6_800, 'b', null, 0, 40), tick(6_801)],
    then: [{ type: 'fence', host: 'b', session: '0-y-0', fence: '0-y-0' }],
  },
  {
    title: 'then the epoch is raised',
    given: [
      ...ofOther,
      ...renewed,
      hostSeen(6_800, 'b', null, 0, 40),
      tick(6_801),
      [6_810, { type: 'fenced', fence: '0-y-0' }],
    ],
    then: [lease(5, 9)],
  },
  {
    title: 'the connection of a session that lives is closed before a plugin is taken that has left it so',
    given: [...ofOther, releasedByOther(30, 4, 10), tick(40)],
    then: [{ type: 'fence', host: 'b', session: '0-y-0', fence: '0-y-0 p 4' }],
  },
  {
    title: 'then it is taken',
    given: [...ofOther, releasedByOther(30, 4, 10), tick(40), [50, { type: 'fenced', fence: '0-y-0 p 4' }]],
    then: [lease(5, 10)],
  },
  {
    title: 'and closed once more for the next one: that session goes on',
    given: [
      ...ofOther,
      releasedByOther(30, 4, 10),
      tick(40),
      [50, { type: 'fenced', fence: '0-y-0 p 4' }],
      leaseSeen(60, 'p', 'b', '0-y-0', 6, 12),
      releasedByOther(70, 6, 13),
      tick(80),
    ],
    then: [{ type: 'fence', host: 'b', session: '0-y-0', fence: '0-y-0 p 6' }],
  },
  {
    title: 'also where that session is over then',
    given: [
      ...ofOther,
      releasedByOther(30, 4, 10),
      tick(40),
      [50, { type: 'fenced', fence: '0-y-0 p 4' }],
      leaseSeen(60, 'p', 'b', '0-y-0', 6, 12),
      hostSeen(70, 'b', null, 0, 40),
      tick(80),
    ],
    then: [{ type: 'fence', host: 'b', session: '0-y-0', fence: '0-y-0' }],
  },
  {
    title:
      'one that falls to another host, which may be of an older version and takes it for held, is left to that at first',
    given: [...ofOther, leaseSeen(25, 'q', 'a', '0-x-0', 1, 8), ...besideReleased, tick(6_720)],
    then: [],
  },
  {
    title: 'and then goes to whoever may run it',
    given: [...ofOther, leaseSeen(25, 'q', 'a', '0-x-0', 1, 8), ...besideReleased, tick(6_730)],
    then: [{ type: 'fence', host: 'b', session: '0-y-0', fence: '0-y-0 p 4' }],
  },
  {
    title: 'the host itself takes it again without that',
    given: [
      ...running,
      [20, { type: 'leaseSeen', plugin: 'p', record: released(1, '0-x-0', 'a'), revision: 2 }],
      tick(1_020),
    ],
    then: [lease(2, 2)],
  },
  {
    title: 'an older record of the host does not say that a session is over',
    given: [
      wanted('p'),
      ...open,
      hostSeen(20, 'b', null, 0, 35),
      leaseSeen(20, 'p', 'b', 'z-y-0', 4, 9),
      tick(30),
    ],
    then: [],
  },
  {
    title: 'after four seconds without a renewal plugins unload, and have until the end of the session',
    given: [...running, tick(4_000)],
    then: [renewal(1, 1), { type: 'stop', plugin: 'p', epoch: 1, until: 6_000 }],
  },
  {
    title: 'a session that recovers starts them again under the same epoch',
    given: [
      ...running,
      tick(4_000),
      hostSeen(4_500, 'a', '0-x-0', 1, 2),
      [4_600, { type: 'stopped', plugin: 'p', epoch: 1 }],
    ],
    then: [{ type: 'start', plugin: 'p', epoch: 1 }],
  },
  {
    title: 'at the end of the session everything is ended, and a new one begins',
    given: [...running, tick(6_000)],
    then: [
      { type: 'kill', plugin: 'p', epoch: 1 },
      { type: 'sessionOver', session: '0-x-0' },
      renewal(0, 1, '1-x-1'),
    ],
  },
  {
    title: 'whoever hears that the session was ended ends everything',
    given: [...running, hostSeen(3_000, 'a', null, 0, 2)],
    then: [
      { type: 'kill', plugin: 'p', epoch: 1 },
      { type: 'sessionOver', session: '0-x-0' },
    ],
  },
  {
    title: 'a plugin that is given away unloads first',
    given: [...running, [20, { type: 'giveBack', plugin: 'p' }]],
    then: [{ type: 'stop', plugin: 'p', epoch: 1, until: 6_000 }],
  },
  {
    title: 'then the broker is asked',
    given: [
      ...running,
      [20, { type: 'giveBack', plugin: 'p' }],
      [30, { type: 'stopped', plugin: 'p', epoch: 1 }],
    ],
    then: [{ type: 'flush', plugin: 'p', epoch: 1 }],
  },
  {
    title: 'then the lease is given back, under the same epoch',
    given: [
      ...running,
      [20, { type: 'giveBack', plugin: 'p' }],
      [30, { type: 'stopped', plugin: 'p', epoch: 1 }],
      [40, { type: 'flushed', plugin: 'p', epoch: 1 }],
    ],
    then: [{ type: 'writeLease', plugin: 'p', record: { host: null, session: null, epoch: 1 }, expected: 1 }],
  },
  {
    title: 'a host without broker, of which a plugin is to go, asks for as long as that may only be slow',
    given: [...cutOff, ...besideOther, tick(5_015)],
    then: [{ type: 'flush', plugin: 'p', epoch: 1 }],
  },
  {
    title: 'and then gives it back as one for which its connection has to be closed, whatever else it has',
    given: [...cutOff, leaseSeen(905, 'q', 'a', '0-x-0', 1, 3), ...besideOther, tick(5_016)],
    then: [{ type: 'writeLease', plugin: 'p', record: released(1, '0-x-0', 'a'), expected: 1 }],
  },
  {
    title: 'when another host has not long had the broker it waits as long again',
    given: [...cutOff, withoutBroker(900, 'a', 'b'), ...besideOther, withoutBroker(4_500, 'a'), tick(7_000)],
    then: [renewal(3, 32), { type: 'flush', plugin: 'p', epoch: 1 }],
  },
  {
    title: 'while no host has the broker it waits',
    given: [...cutOff, withoutBroker(900, 'a', 'b'), ...besideOther, tick(7_000)],
    then: [renewal(3, 32), { type: 'flush', plugin: 'p', epoch: 1 }],
  },
  {
    title: 'and while those that have it may not run the plugin',
    given: [
      ...cutOff,
      ...besideOther,
      [4_010, { type: 'wantedChanged', wanted: new Map([['p', { labels: ['serial'] }]]) }],
      tick(7_000),
    ],
    then: [renewal(3, 32), { type: 'flush', plugin: 'p', epoch: 1 }],
  },
  {
    title: 'and with a plugin that nobody wants any more',
    given: [...cutOff, [910, { type: 'wantedChanged', wanted: new Map() }], ...besideOther, tick(7_000)],
    then: [renewal(3, 32), { type: 'flush', plugin: 'p', epoch: 1 }],
  },
  {
    title: 'a plugin that is not wanted any more goes the same way',
    given: [...running, [20, { type: 'wantedChanged', wanted: new Map() }], tick(30)],
    then: [{ type: 'stop', plugin: 'p', epoch: 1, until: 6_000 }],
  },
  {
    title: 'a host that is drained keeps what nobody else may run',
    given: [...running, described({ a: true }), tick(30)],
    then: [],
  },
  {
    title: 'and lets go of it when another host is there',
    given: [...running, described({ a: true }), hostSeen(25, 'b', '0-y-0', 0, 2), tick(30)],
    then: [{ type: 'stop', plugin: 'p', epoch: 1, until: 6_000 }],
  },
  {
    title: 'what is stopped late belongs to an older epoch, and means nothing',
    given: [...running, tick(4_000), [4_100, { type: 'stopped', plugin: 'p', epoch: 0 }]],
    then: [],
  },
]

function described(draining: Record<string, boolean>): Happening {
  const descriptions = new Map<string, HostDescription>()
  for (const [host, isDraining] of Object.entries(draining)) {
    descriptions.set(host, { labels: [], draining: isDraining })
  }
  return [20, { type: 'hostsDescribed', descriptions }]
}

for (const { title, given, then, heirOf } of cases) {
  test(title, () => assert.deepEqual(run(given, heirOf).last, then))
}

test('a plugin may act under its epoch until the end of the session, and not a moment longer', () => {
  const { state } = run(running)
  assert.deepEqual(
    [5_999, 6_000].map((now) => mayAct(state, 'p', 1, now)),
    [true, false],
  )
  assert.equal(mayAct(state, 'p', 0, 20), false)
  assert.equal(mayAct(state, 'q', 1, 20), false)
  const stopped = run([...running, tick(4_000), [4_100, { type: 'stopped', plugin: 'p', epoch: 1 }]])
  assert.equal(mayAct(stopped.state, 'p', 1, 4_200), false)
})

test('a session counts from when the record was sent that was taken, not from when that was heard', () => {
  const { state } = run([...running, tick(2_000), tick(3_000), hostSeen(3_900, 'a', '0-x-0', 1, 2)])
  assert.equal(state.own?.validFrom, 2_000)
})

test('the same record seen twice, or an older one, changes nothing', () => {
  const { state } = run(running)
  for (const [at, event] of [hostSeen(100, 'a', '0-x-0', 0, 1), leaseSeen(100, 'p', null, null, 0, 1)]) {
    assert.deepEqual(leaseStep(state, event, at), [state, []])
  }
})

test('of two sessions of one host the later one is known by its name', () => {
  const seen = (session: string | null, revision: number) => ({
    ...{ revision, at: 0 },
    record: session === null ? null : { session, n: 0 },
  })
  assert.deepEqual(
    [
      hasEnded('5-x-0', undefined),
      hasEnded('5-x-0', seen('5-x-0', 6)),
      hasEnded('5-x-0', seen(null, 5)),
      hasEnded('5-x-0', seen(null, 7)),
      hasEnded('5-x-0', seen('7-y-0', 8)),
      hasEnded('5-x-0', seen('0-y-0', 4)),
    ],
    [false, false, false, true, true, false],
  )
})

test('the fewest plugins, the labels, the drain and the name decide where plugins go', () => {
  const host = (id: string, plugins: number, labels: string[] = [], draining = false) => ({
    ...{ id, plugins, labels, draining },
  })
  const hosts = [host('a', 1), host('b', 0, ['serial']), host('c', 0, [], true)]
  const chosen = chooseHosts(
    [
      ['p', {}],
      ['q', {}],
      ['r', {}],
      ['s', { labels: ['serial'] }],
      ['t', { host: 'a' }],
      ['u', { host: 'c' }],
      ['v', { labels: ['serial', 'cellar'] }],
    ],
    hosts,
  )
  assert.deepEqual(Object.fromEntries(chosen), { p: 'b', q: 'a', r: 'b', s: 'b', t: 'a' })
})

for (const [what, impaired] of [
  ['without broker', { withoutBroker: true }],
  ['with a full disk', { isFull: true }],
] as const)
  test(`plugins go to a host ${what} only when no other may run them`, () => {
    const candidates = [
      { id: 'a', labels: ['serial'], draining: false, plugins: 0, ...impaired },
      { id: 'b', labels: [], draining: false, plugins: 7 },
    ]
    const plugins = [
      ['p', {}],
      ['q', { labels: ['serial'] }],
      ['r', {}],
    ] as const
    assert.deepEqual(
      [...chooseHosts(plugins, candidates)],
      [
        ['p', 'b'],
        ['q', 'a'],
        ['r', 'b'],
      ],
    )
  })

test('others wait longer than a session may last on the slowest clock, counted by the fastest', () => {
  const { sessionLength, takeOverAfter, unloadAfter, renewEvery } = leaseTiming
  assert.ok(takeOverAfter / (1 + clockTolerance) > sessionLength / (1 - clockTolerance))
  assert.ok(renewEvery < unloadAfter && unloadAfter < sessionLength)
})

test('a host with a hundred plugins writes once in two seconds while nothing happens', () => {
  const plugins = Array.from({ length: 100 }, (_, index) => `p${index}`)
  let { state } = run([
    ...open,
    wanted(...plugins),
    ...plugins.map((plugin, index) => leaseSeen(6, plugin, 'a', '0-x-0', 1, index + 1)),
  ])
  let writes = 0
  for (let at = 200; at <= 60_000; at += 200) {
    const [next, effects] = leaseStep(state, { type: 'tick' }, at)
    state = next
    for (const effect of effects) {
      assert.equal(effect.type, 'writeHost')
      writes += 1
      if (effect.type !== 'writeHost') continue
      const seen: LeaseEvent = { ...effect, type: 'hostSeen', revision: effect.expected + 1 }
      state = leaseStep(state, seen, at + 5)[0]
    }
  }
  assert.equal(writes, 30)
})
