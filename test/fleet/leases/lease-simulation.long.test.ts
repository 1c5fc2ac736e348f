import { test } from 'node:test'
import { checkLaw } from './simulation/check-law.ts'

test('law: no two hosts act as one plugin, nothing acknowledged is lost, and all run once the faults are over, whatever happens', () => {
  checkLaw(3_000)
})
