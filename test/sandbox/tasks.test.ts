import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInbox } from '../../src/sandbox/worker/inbox.ts'
import { createLuaRuntime } from '../../src/sandbox/worker/lua/lua-runtime.ts'
import type { Steps } from '../../src/sandbox/worker/lua/steps.ts'
import { createRunQueue } from '../../src/sandbox/worker/run-queue.ts'
import { createTasks } from '../../src/sandbox/worker/tasks.ts'
import { createTimeBudget } from '../../src/sandbox/worker/time-budget.ts'
import { withStage } from './plugins-stage.ts'
import { json } from './stage.ts'

/** Tasks, calls and deliveries of one isolate, each of which takes a slice. */
function stage() {
  let now = 0
  const did: string[] = []
  const failed = (error: unknown): void => {
    throw error
  }
  const queue = createRunQueue(() => now)
  const inbox = createInbox(failed)
  const tasks = createTasks({
    ...{ queue, failed, preemptive: true, milliseconds: 5_000 },
    runtime: createLuaRuntime({ print: () => undefined, now: () => now }),
    budget: createTimeBudget(() => now),
    monotonic: () => now,
    turn: (task) => task(),
    left: () => undefined,
    moreWork: inbox.work,
  })
  function* work(name: string, last: () => void): Steps<void> {
    did.push(name)
    now += 5
    last()
  }
  return { did, queue, inbox, tasks, work }
}

test('a timer that is always due, calls without a pause and deliveries have their turns', () => {
  const { did, queue, inbox, tasks, work } = stage()
  const beat = (): void => tasks.start(work('timer', beat))
  const call = (): void => tasks.serve({ number: 1, steps: work('call', call), cancelled: () => undefined })
  for (let number = 1; number <= 9; number += 1)
    inbox.add(() => {
      tasks.start(work(`delivery ${number}`, () => undefined))
      return true
    })
  beat()
  call()
  for (let slice = 0; slice < 60; slice += 1) queue.runOne()
  const deliveries = did.filter((name) => name.startsWith('delivery'))
  assert.deepEqual(
    deliveries,
    Array.from({ length: 9 }, (_, index) => `delivery ${index + 1}`),
    'all of them, in order',
  )
  const until = did.slice(0, did.indexOf('delivery 9'))
  for (const name of ['timer', 'call']) {
    const times = until.filter((each) => each === name).length
    assert.ok(times >= 8, `${name}: ${times} of ${until.length}`)
  }
  tasks.close()
})

for (const isolation of ['shared', 'dedicated'] as const) {
  test(`§5 a plugin in a ${isolation} worker whose interval takes longer than its period gets its events`, async () => {
    await withStage(
      async ({ load }) => {
        const { isolate, recorder } = await load(
          'busy',
          `
            plugin:setInterval(1, function() local t = os.clock() while os.clock() - t < 0.01 do end end)
            plugin:on("ping", function(n) print("pong", n) end)`,
        )
        for (let number = 1; number <= 5; number += 1) {
          isolate.deliverEvent('ping', json(number))
          await recorder.logged(`pong\t${number}`)
        }
        assert.deepEqual(
          recorder.logs(),
          [1, 2, 3, 4, 5].map((number) => `info pong\t${number}`),
        )
      },
      {},
      isolation,
    )
  })
}
