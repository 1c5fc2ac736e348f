import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCatchUp } from '../../../../src/host/fleet/commands/catch-up.ts'
import { createManualClock } from '../../../helpers/manual-clock.ts'

/** A store whose answers come when it is told so. */
function stage() {
  const clock = createManualClock()
  const questions: (() => void)[] = []
  const catchUp = createCatchUp({
    clock,
    journal: { catchUp: () => new Promise((resolve) => questions.push(resolve)) },
    maySpeak: () => true,
  })
  return { clock, questions, catchUp }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('however many ask for what nobody has, the store gets one question at a time, with a pause before the next', async () => {
  const { clock, questions, catchUp } = stage()
  const first = catchUp()
  await turn()
  assert.equal(questions.length, 1)
  // The answer to the first question may be older than what these look for.
  const others = Array.from({ length: 10_000 }, catchUp)
  await turn()
  assert.equal(questions.length, 1)
  questions[0]?.()
  await first
  await turn()
  assert.equal(questions.length, 1)
  clock.advance(20)
  await turn()
  assert.equal(questions.length, 2)
  questions[1]?.()
  assert.ok((await Promise.all(others)).every(Boolean))
  assert.equal(questions.length, 2)
})

test('a store that does not answer keeps nobody for longer than two seconds, also who comes while another one waits', async () => {
  const { clock, questions, catchUp } = stage()
  const asked = catchUp()
  await turn()
  assert.equal(questions.length, 1)
  clock.advance(100)
  const later = { isDone: false }
  void catchUp().then(() => (later.isDone = true))
  await turn()
  clock.advance(1_900)
  assert.equal(await asked, false)
  await turn()
  clock.advance(100)
  await turn()
  assert.ok(later.isDone)
})
