import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionRecord } from '../../../src/fleet/leases/records.ts'
import { logOtherHost, logRenewed, logWaiting } from '../../../src/fleet/leases/session-log.ts'
import { type Held, initialLeaseState, type LeaseState } from '../../../src/fleet/leases/state.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'

const gone = 'warn A host of the fleet is gone: it is not heard of any more, so others take its plugins'
const left = 'info A host of the fleet has left'
const there = 'info A host of the fleet is there'
const anew =
  'warn A host of the fleet has begun another session: its last one was over, so its plugins were stopped or taken by others'

/** What this host knows of the host h2 at a time. */
function knowing(record: SessionRecord | null, at: number): LeaseState {
  const hosts = new Map([['h2', { record, revision: at, at }]])
  return { ...initialLeaseState({ host: 'h1', process: 'x' }), isSynced: true, hosts }
}
const session = (name: string, n = 0): SessionRecord => ({ session: name, n })

for (const { title, before, after, seconds, lines } of [
  { title: 'is renewed', before: session('s'), after: session('s', 1), seconds: 30, lines: [] },
  { title: 'ends in order', before: session('s'), after: null, seconds: 2, lines: [left] },
  { title: 'is ended by others', before: session('s'), after: null, seconds: 7, lines: [gone] },
  { title: 'begins', before: null, after: session('s'), seconds: 30, lines: [there] },
  { title: 'follows a quick restart', before: session('s'), after: session('t'), seconds: 2, lines: [there] },
  {
    title: 'follows one that was over: nobody is gone',
    ...{ before: session('s'), after: session('t'), seconds: 7, lines: [anew] },
  },
]) {
  test(`the log of another host's session that ${title}`, () => {
    const logger = createRecordingLogger()
    logOtherHost(logger, knowing(before, 1), knowing(after, 1 + seconds * 1_000), 'h2')
    assert.deepEqual(
      logger.lines.map(({ level, message }) => `${level} ${message}`),
      lines,
    )
  })
}

const renewed =
  'warn The session of this host was not renewed for so long that its plugins were stopped here; now they start again: the ' +
  "fleet's store could not be reached, or this machine was asleep"

/** What this host knows of itself, with a session whose last renewal was sent at a time, and one plugin. */
function holding(validFrom: number, { phase = 'stopped' as Held['phase'], isLeaving = false }): LeaseState {
  const own = {
    ...{ session: 's', revision: 1, n: 1, sent: new Map(), lastSent: validFrom },
    validFrom,
    withdrawnAt: null,
  }
  const held = new Map([['@a/p', { epoch: 1, revision: 1, phase, isLeaving, askedAt: 0 }]])
  return { ...initialLeaseState({ host: 'h1', process: 'x' }), isSynced: true, own, held }
}

for (const { title, plugin, seconds, lines } of [
  { title: 'late, and stopped its plugin', plugin: {}, seconds: 5, lines: [renewed] },
  { title: 'late, and is stopping it', plugin: { phase: 'stopping' as const }, seconds: 5, lines: [renewed] },
  { title: 'late, before it has stopped it', plugin: { phase: 'running' as const }, seconds: 5, lines: [] },
  { title: 'in time', plugin: {}, seconds: 3, lines: [] },
  {
    title: 'late, while its plugin goes to another host',
    plugin: { isLeaving: true },
    seconds: 5,
    lines: [],
  },
]) {
  test(`the log of a host that renews its session ${title}`, () => {
    const logger = createRecordingLogger()
    const now = 1 + seconds * 1_000
    logRenewed(logger, holding(1, plugin), holding(now, plugin), now)
    assert.deepEqual(
      logger.lines.map(({ level, message }) => `${level} ${message}`),
      lines,
    )
  })
}

/** One whose plugin waits for the broker since 1, and was asked for it at a time; or goes without it. */
function waiting(askedAt: number, more: Partial<Held> = {}): LeaseState {
  const flushing = {
    epoch: 1,
    revision: 1,
    phase: 'flushing',
    isLeaving: true,
    askedAt,
    flushingSince: 1,
    ...more,
  } as const
  return { ...holding(1, {}), held: new Map([['@a/p', flushing]]) }
}

test('the log of a host whose plugin waits for the broker says so once, and when that goes without it', () => {
  const logger = createRecordingLogger()
  for (const [before, after] of [
    [1, 1_001],
    [1_001, 2_001],
    [2_001, 2_001],
    [2_001, 3_001],
    [3_001, 4_001],
  ] as const)
    logWaiting(logger, waiting(before), waiting(after), after)
  assert.deepEqual(
    logger.lines.map(({ level, fields }) => [level, fields]),
    [['warn', { plugin: '@a/p' }]],
  )
  assert.match(logger.lines[0]?.message ?? '', /waits for the MQTT broker/)
  const gone = waiting(5_001, { phase: 'releasing', isUnflushed: true })
  logWaiting(logger, waiting(4_001), gone, 5_001)
  logWaiting(logger, gone, gone, 6_001)
  assert.deepEqual(
    logger.lines.slice(1).map(({ level, message, fields }) => [level, message.slice(0, 47), fields]),
    [['warn', 'A plugin goes to a host that has the MQTT broke', { plugin: '@a/p' }]],
  )
})
