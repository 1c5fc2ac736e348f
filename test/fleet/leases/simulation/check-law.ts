import assert from 'node:assert/strict'
import fc from 'fast-check'
import { anyScenario, simulate } from './simulate.ts'

/** Searches for a scenario that breaks the law. When there is one, its seed and the shortest form found are told. */
export function checkLaw(numRuns: number): void {
  fc.assert(
    fc.property(anyScenario, (scenario) => assert.deepEqual(simulate(scenario).breaches, [])),
    { numRuns },
  )
}
