import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPendingRequests } from '../../../src/sandbox/calls/pending-requests.ts'
import { signalCells } from '../../../src/schema/worker/shared-cells.ts'
import { createAsking } from '../../../src/sandbox/worker/questions/asking.ts'
import { NoAnswer } from '../../../src/sandbox/worker/questions/pending-questions.ts'
import { createQuestionChannel } from '../../../src/sandbox/worker/questions/question-channel.ts'

/** The silence of a worker is its own, unless it waits: this test is the host and the worker, in one thread. */
test('a worker waits while it sleeps for an answer, and not while it serves a call meanwhile', async (context) => {
  const requests = createPendingRequests()
  const seen: boolean[] = []
  const { setup } = requests
  const questions = createQuestionChannel({
    setup,
    post: () => undefined,
    serve: () => seen.push(requests.waits(), requests.waits()),
    cancel: () => undefined,
    pluginOf: () => undefined,
    runOthers: () => false,
    refuse: () => undefined,
  })
  context.after(async () => {
    setup.urgent.close()
    await requests.close()
  })
  assert.equal(requests.waits(), false)
  requests.post({
    ...{ kind: 'call', isolate: 1, call: 1, caller: '@test/caller', handle: 0, operation: 'call', depth: 1 },
    serialized: { body: new Uint8Array(), references: [] },
  })
  const { askNow } = createAsking({
    ...{ isolate: 1, questions, milliseconds: 50, impatient: undefined },
    flush: () => true,
    onSpot: (wait) => wait(),
  })
  assert.throws(() => askNow({ kind: 'listPlugins' }, () => undefined), NoAnswer)
  // It has looked for an answer before it began with the call; after that it might hang in it.
  assert.deepEqual(seen, [true, false])
  assert.deepEqual([requests.waits(), requests.waits()], [true, false])
  Atomics.add(new Int32Array(setup.signal), signalCells.waits, 1)
  assert.deepEqual([requests.waits(), requests.waits()], [true, true])
})
