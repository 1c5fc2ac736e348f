import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decideRestart,
  defaultRestartPolicy,
  type RestartDecision,
  type RestartPolicy,
} from '../../../src/lifecycle/loading/restart-policy.ts'
import { decideSafeMode, wasKilledForMemory } from '../../../src/lifecycle/supervision/safe-mode.ts'
import type { SafeModeReason } from '../../../src/schema/journal/journal-event.ts'

const policy: RestartPolicy = {
  budget: 5,
  stableAfter: 600_000,
  firstDelay: 1_000,
  longestDelay: 6_000,
  jitter: 0.5,
}

const crashes: [crashes: number, ranFor: number, random: number, decision: RestartDecision][] = [
  [0, 0, 0, { crashes: 1, restart: { attempt: 1, delay: 1_000 } }],
  [0, 0, 0.5, { crashes: 1, restart: { attempt: 1, delay: 1_250 } }],
  [1, 10, 0, { crashes: 2, restart: { attempt: 2, delay: 2_000 } }],
  [2, 10, 0, { crashes: 3, restart: { attempt: 3, delay: 4_000 } }],
  [3, 10, 0, { crashes: 4, restart: { attempt: 4, delay: 6_000 } }],
  [3, 10, 1, { crashes: 4, restart: { attempt: 4, delay: 9_000 } }],
  [4, 599_999, 0, { crashes: 5, restart: null }],
  [9, 0, 0, { crashes: 10, restart: null }],
  [4, 600_000, 0, { crashes: 1, restart: { attempt: 1, delay: 1_000 } }],
]

test('a crash is followed by a restart after a growing delay, until the budget is spent or a run was stable', () => {
  const decided = crashes.map(([before, ranFor, random]) => [
    before,
    ranFor,
    random,
    decideRestart(policy, { crashes: before, ranFor }, random),
  ])
  assert.deepEqual(decided, crashes)
})

test('without another policy it is started again after 1, 2, 4 and 8 s, and a fifth more, and ten minutes are quiet', () => {
  const delays = (random: number) =>
    [0, 1, 2, 3, 4].map(
      (crashes) => decideRestart(defaultRestartPolicy, { crashes, ranFor: 599_999 }, random).restart?.delay,
    )
  assert.deepEqual(delays(0), [1_000, 2_000, 4_000, 8_000, undefined])
  assert.deepEqual(delays(1), [1_200, 2_400, 4_800, 9_600, undefined])
  assert.equal(decideRestart(defaultRestartPolicy, { crashes: 4, ranFor: 600_000 }, 0).crashes, 1)
})

const starts: [asked: boolean, unfinished: number, reason: SafeModeReason | undefined][] = [
  [false, 0, undefined],
  [false, 2, undefined],
  [false, 3, 'unfinishedStarts'],
  [false, 7, 'unfinishedStarts'],
  [true, 0, 'asked'],
  [true, 3, 'asked'],
]

const ready = { boot: 'a', uptime: 1_000_000, memoryKills: 2 }
const later = { boot: 'a', uptime: 1_300_000, memoryKills: 3 }
const runs: [Parameters<typeof wasKilledForMemory>[0], Parameters<typeof wasKilledForMemory>[1], boolean][] =
  [
    [ready, later, true],
    [ready, { ...later, uptime: 1_300_001 }, false],
    // By hand.
    [ready, { ...later, memoryKills: 2 }, false],
    // The machine was started anew.
    [ready, { ...later, boot: 'b' }, false],
    [ready, undefined, false],
    [null, later, false],
    [undefined, later, false],
    [undefined, undefined, false],
  ]

test('a run was killed for want of memory when the system has killed somebody and the next begins within five minutes of its ready', () => {
  assert.deepEqual(
    runs.map(([before, now]) => [before, now, wasKilledForMemory(before, now)]),
    runs,
  )
})

test('a start is a safe one when it is asked for, or after three that did not reach ready', () => {
  const decided = starts.map(([asked, unfinished]) => [asked, unfinished, decideSafeMode(asked, unfinished)])
  assert.deepEqual(decided, starts)
})
