import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockTolerance, leaseTiming } from '../../../src/fleet/leases/timing.ts'
import { checkLaw } from './simulation/check-law.ts'
import { allSafeguards, type Safeguards } from './simulation/safeguards.ts'
import { type Fault, faultsBegin, type Scenario, simulate } from './simulation/simulate.ts'

test('law: no two hosts act as one plugin, nothing acknowledged is lost, and all run once the faults are over', () => {
  checkLaw(60)
})

const slow = 1 - clockTolerance
const fast = 1 + clockTolerance

/** Three hosts with three plugins; something happens to one of them. */
function scenarioOf(seed: number, faults: (host: number) => Fault[]): Scenario {
  const host = seed % 3
  const rates = [0, 1, 2].map((index) => (index === host ? slow : fast))
  return { seed, hosts: 3, plugins: 3, rates, faults: faults(host) }
}

/** Seconds after the faults begin. */
const after = (seconds: number): number => faultsBegin + 1_000 * seconds
const length = 13_000

const storm: Fault = {
  ...{ kind: 'weather', at: after(0), length: 12_000 },
  weather: { loss: 0.2, duplication: 0.4, lateness: 0.3 },
}

const withoutOne: { safeguard: string; off: Partial<Safeguards>; faults: (host: number) => Fault[] }[] = [
  {
    safeguard: 'the fence at the broker',
    off: { fence: false },
    faults: (host) => [{ kind: 'pause', when: 'beforeAct', at: after(0), length, host }],
  },
  {
    safeguard: 'the question before each act',
    off: { askBeforeActs: false },
    faults: (host) => [{ kind: 'pause', when: 'now', at: after(0), length, host }],
  },
  {
    safeguard: 'the rule that nothing waits for the next connection',
    off: { boundToConnection: false },
    faults: (host) => [
      { kind: 'cutFromBroker', at: after(0), length, host },
      { kind: 'cutFromStore', at: after(2), length: 20_000, host },
      { kind: 'pause', when: 'now', at: after(4), length, host },
    ],
  },
  {
    safeguard: 'the answer of the broker before a lease is given back',
    off: { flush: false },
    faults: (host) => [
      { kind: 'cutFromBroker', at: after(0), length: 8_000, host },
      { kind: 'giveBack', plugin: 0, at: after(1), length: 0 },
      { kind: 'giveBack', plugin: 1, at: after(1), length: 0 },
      { kind: 'giveBack', plugin: 2, at: after(1), length: 0 },
    ],
  },
  {
    safeguard: 'the closing of a connection that the broker has not answered over',
    off: { fence: false },
    faults: (host) => [
      { kind: 'cutFromBroker', at: after(0), length: 20_000, host },
      ...[0, 1, 2].map((plugin): Fault => ({ kind: 'giveBack', plugin, at: after(1), length: 0 })),
    ],
  },
  {
    safeguard: 'compare-and-set',
    off: { compareAndSet: false },
    faults: (host) => [
      storm,
      { kind: 'kill', elsewhere: false, at: after(0), length: 8_000, host },
      ...[1, 3, 5].map((at): Fault => ({ kind: 'giveBack', plugin: at % 3, at: after(at), length: 0 })),
    ],
  },
  {
    safeguard: 'the epochs in the journal',
    off: { epochs: false },
    faults: (host) => [{ kind: 'pause', when: 'beforeAppend', at: after(0), length, host }],
  },
  {
    safeguard: 'the expected sequence of the journal',
    off: { expectedSequence: false },
    faults: () => [storm],
  },
  {
    safeguard: 'the time that others wait longer than the holder',
    off: { timing: { ...leaseTiming, takeOverAfter: leaseTiming.sessionLength } },
    faults: (host) => [{ kind: 'cutFromStore', at: after(0), length, host }],
  },
]

for (const { safeguard, off, faults } of withoutOne) {
  test(`without ${safeguard} the simulation finds a breach, and with it none`, () => {
    const seeds = Array.from({ length: 60 }, (_, seed) => seed)
    const breaking = seeds.find((seed) => {
      const { breaches } = simulate(scenarioOf(seed, faults), { ...allSafeguards, ...off }, 4_000)
      // What has not come back yet is no breach of what is looked for here.
      return breaches.some((sentence) => !/ runs on 0 | does nothing/.test(sentence))
    })
    assert.notEqual(breaking, undefined, 'no seed breaks the law')
    assert.deepEqual(simulate(scenarioOf(breaking ?? 0, faults)).breaches, [])
  })
}

for (const kind of ['kill', 'cutOff', 'cutFromStore', 'pause'] as const) {
  test(`a plugin acts elsewhere within ten seconds (${kind})`, () => {
    for (let seed = 0; seed < 9; seed += 1) {
      const scenario = scenarioOf(seed, (host) => [
        { kind, host, when: 'now', elsewhere: false, at: after(0), length: 30_000 },
      ])
      const { longestSilence, breaches } = simulate(scenario)
      assert.deepEqual(breaches, [])
      assert.ok(longestSilence < 10_000, `seed ${seed}: ${longestSilence} ms`)
    }
  })
}

test('one write over HTTP that had begun when its machine was paused may come late, and nothing else', () => {
  let lateWrites = 0
  for (let seed = 0; seed < 12; seed += 1) {
    const outcome = simulate(
      scenarioOf(seed, (host) => [{ kind: 'pause', when: 'beforeAct', at: after(0), length, host }]),
    )
    assert.deepEqual(outcome.breaches, [])
    assert.ok(outcome.lateWrites <= 1, `seed ${seed}: ${outcome.lateWrites}`)
    lateWrites += outcome.lateWrites
  }
  assert.ok(lateWrites > 0, 'it was met')
})
