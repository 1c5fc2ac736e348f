import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type Clock, systemClock } from '../../../src/base/time/clock.ts'
import { createPendingRequests } from '../../../src/sandbox/calls/pending-requests.ts'
import { signalCells } from '../../../src/schema/worker/shared-cells.ts'
import { createQuestionClient } from '../../../src/sandbox/worker/questions/question-client.ts'
import { NoAnswer } from '../../../src/sandbox/worker/questions/pending-questions.ts'
import { createQuestionChannel } from '../../../src/sandbox/worker/questions/question-channel.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** Both ends of the channel: a test is the host and the worker, in one thread. `serve`: a call of another plugin. */
function stage(context: TestContext, clock: Clock, serve: () => void) {
  const requests = createPendingRequests()
  const { setup } = requests
  const asked: number[] = []
  const questions = createQuestionChannel({
    ...{ setup, clock, serve },
    post(message) {
      if (message.kind === 'question') asked.push(message.number)
    },
    cancel: () => undefined,
    pluginOf: () => undefined,
    runOthers: () => false,
    refuse: () => undefined,
  })
  context.after(async () => {
    setup.urgent.close()
    await requests.close()
  })
  return {
    ...{ requests, questions },
    call: () =>
      requests.post({
        ...{
          kind: 'call',
          isolate: 1,
          call: 1,
          caller: '@test/caller',
          handle: 0,
          operation: 'call',
          depth: 1,
        },
        serialized: { body: new Uint8Array(), references: [] },
      }),
    /** The host answers all that it was asked. */
    answer() {
      for (const number of asked.splice(0))
        requests.post({ kind: 'answer', isolate: 1, number, ok: true, value: [] })
    },
  }
}

/** The silence of a worker is its own, unless it waits. */
test('a worker waits while it sleeps for an answer, and not while it serves a call meanwhile', async (context) => {
  const seen: boolean[] = []
  const { requests, questions, call } = stage(context, systemClock, () => {
    seen.push(requests.waits(), requests.waits())
  })
  const { setup } = requests
  assert.equal(requests.waits(), false)
  call()
  const { askNow } = createQuestionClient({
    ...{ isolate: 1, questions, milliseconds: 50, isOverBudget: undefined },
    flush: () => true,
    whileBlocked: (wait) => wait(),
  })
  assert.throws(() => askNow({ kind: 'listPlugins' }, () => undefined), NoAnswer)
  // It has looked for an answer before it began with the call; after that it might hang in it.
  assert.deepEqual(seen, [true, false])
  assert.deepEqual([requests.waits(), requests.waits()], [true, false])
  Atomics.add(new Int32Array(setup.signal), signalCells.waits, 1)
  assert.deepEqual([requests.waits(), requests.waits()], [true, true])
})

const paused = 60_000
const callTime = 5_000

test('an answer that has come while the process was paused is heard, and silence after that is none', (context) => {
  const clock = createManualClock()
  const { questions, answer } = stage(context, clock, () => undefined)
  const outcomes: unknown[] = []
  const begin = (): void => {
    questions.begin(
      { isolate: 1, milliseconds: callTime, settled: true },
      { kind: 'listPlugins' },
      (found) => outcomes.push(found),
      (error) => outcomes.push(error.name),
    )
  }
  begin()
  clock.pause(paused)
  clock.advance(0)
  answer()
  clock.advance(callTime)
  assert.deepEqual(outcomes, [[]])
  begin()
  clock.pause(paused)
  clock.advance(0)
  assert.equal(outcomes.length, 1)
  clock.advance(callTime)
  assert.deepEqual(outcomes, [[], 'NoAnswer'])
})

test('so it is where a worker waits on the spot', (context) => {
  const clock = createManualClock()
  const pause = (): void => clock.pause(paused)
  const todo = [pause, () => answer(), pause, pause]
  const { questions, call, answer } = stage(context, clock, () => todo.shift()?.())
  const { askNow } = createQuestionClient({
    ...{ isolate: 1, questions, milliseconds: callTime, isOverBudget: undefined },
    flush: () => true,
    whileBlocked: (wait) => wait(),
  })
  for (let calls = 0; calls < 4; calls += 1) call()
  assert.deepEqual(
    askNow({ kind: 'listPlugins' }, (found) => found),
    [],
  )
  assert.throws(() => askNow({ kind: 'listPlugins' }, (found) => found), NoAnswer)
  assert.equal(todo.length, 0)
})
