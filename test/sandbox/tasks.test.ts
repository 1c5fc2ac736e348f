import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { creditLimit, flowCells } from '../../src/schema/worker/shared-cells.ts'
import type { HttpRequest } from '../../src/schema/outside/outside.ts'
import type { WorkerMessage } from '../../src/schema/worker/worker-protocol.ts'
import { createInbox } from '../../src/sandbox/worker/inbox.ts'
import { createLuaRuntime } from '../../src/sandbox/worker/lua/lua-runtime.ts'
import { callLua, type Steps, type Waiting } from '../../src/sandbox/worker/lua/steps.ts'
import { batchOperationLimit, createOutbox } from '../../src/sandbox/worker/outbox.ts'
import { createOutsideCalls } from '../../src/sandbox/worker/limits/outside-calls.ts'
import { createRunQueue } from '../../src/sandbox/worker/scheduling/run-queue.ts'
import { createTasks } from '../../src/sandbox/worker/scheduling/tasks.ts'
import { createTimeBudget } from '../../src/sandbox/worker/budgets/time-budget.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { withStage } from './plugins-stage.ts'
import { json } from './stage.ts'

/** Tasks, calls and deliveries of one isolate, each of which takes a slice. */
function stage() {
  const clock = createManualClock()
  const { now, monotonic } = clock
  const did: string[] = []
  const failed = (error: unknown): void => {
    throw error
  }
  const queue = createRunQueue(clock)
  const inbox = createInbox(failed)
  const tasks = createTasks({
    ...{ queue, failed, preemptive: true, milliseconds: 5_000 },
    runtime: createLuaRuntime({ print: () => undefined, now }),
    budget: createTimeBudget(clock, { counted: (step) => step }),
    monotonic,
    turn: (task) => task(),
    left: () => undefined,
    moreWork: inbox.work,
  })
  function* work(name: string, last: () => void): Steps<void> {
    did.push(name)
    clock.pause(5)
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

test('steps that have Lua called again and again are set aside between two calls, and where the host has no room', () => {
  const clock = createManualClock()
  const { now, monotonic } = clock
  let room: Waiting | undefined
  const queue = createRunQueue(clock)
  const runtime = createLuaRuntime({ print: () => undefined, now })
  let called = 0
  const callee = runtime.wrap('read', () => {
    called += 1
    clock.pause(1)
    return []
  })
  const tasks = createTasks({
    ...{ runtime, queue, preemptive: true, milliseconds: 5_000 },
    budget: createTimeBudget(clock, { counted: (step) => step }),
    monotonic,
    room: () => room,
    turn: (task) => task(),
    left: () => undefined,
    moreWork: () => false,
    failed: (error) => assert.fail(String(error)),
  })
  let isDone = false
  function* readAll(): Steps<void> {
    for (let index = 0; index < 40; index += 1) yield* callLua(callee)
    isDone = true
  }
  const counts: number[] = []
  tasks.start(readAll())
  counts.push(called)
  queue.runOne()
  counts.push(called)
  room = { settled: false, wake: undefined, take: () => undefined, giveUp: () => undefined }
  for (let slice = 0; slice < 3; slice += 1) queue.runOne()
  counts.push(called)
  const waiting = room
  room = undefined
  waiting.wake?.()
  while (queue.runOne());
  // A slice is 4 ms; the one that finds no room ends after the call that it begins with.
  assert.deepEqual([counts, called, isDone], [[4, 8, 9], 40, true])
})

test('who has ended in its slice does not want another one, although the slice is over', () => {
  const { did, queue, tasks, work } = stage()
  tasks.start(work('last', tasks.close))
  assert.deepEqual(did, ['last'])
  assert.equal(queue.runOne(), false)
})

test('of very many deliveries each slice does a few, in order', () => {
  const inbox = createInbox((error) => assert.fail(String(error)))
  const done: number[] = []
  for (let number = 0; number < 1_000; number += 1) inbox.add(() => done.push(number) > 0)
  let left = 0
  const slice = (): boolean => {
    left = 7
    return inbox.work(() => (left -= 1) >= 0)
  }
  for (let number = 1_000; slice(); number += 1) if (number < 1_200) inbox.add(() => done.push(number) > 0)
  assert.equal(
    inbox.work(() => true),
    false,
  )
  assert.deepEqual(done, [...done.keys()])
  assert.ok(done.length > 1_100, `${done.length}`)
})

test('requests beyond what may wait are refused when the plugin has its turn, not on the spot', () => {
  const turns: (() => void)[] = []
  const calls = createOutsideCalls(
    () => undefined,
    () => undefined,
    (task) => turns.push(task),
    8,
    () => undefined,
  )
  const answers: (string | undefined)[] = []
  const request: HttpRequest = {
    ...{ url: 'http://localhost/', method: 'GET', headers: [], timeout: 1_000, insecure: false },
  }
  const start = (): void =>
    calls.start({ service: 'http', request }, (answer) => {
      if (answer.service === 'http') answers.push(answer.answer.error?.message)
    })
  for (let number = 0; number < 1_100; number += 1) start()
  assert.deepEqual([calls.count('http'), answers, turns.length], [1_008, [], 92])
  for (const turn of turns) turn()
  assert.deepEqual(answers, new Array(92).fill('too many requests are waiting for their turn'))
  // A callback that only goes on asking is told at once, so that what it has not heard of cannot fill the worker.
  for (let number = 0; number < 1_000; number += 1) start()
  assert.throws(start, /^Error: too many requests are waiting for their turn; 1000 were refused before/)
  assert.equal(turns.length, 1_092)
  turns[92]?.()
  start()
  assert.throws(start, /1000 were refused before/)
  calls.giveUp()
  assert.equal(calls.count('http'), 0)
})

test('whatever waits for room with the host goes on when there is some', () => {
  const flow = new SharedArrayBuffer(64)
  const cells = new Int32Array(flow)
  const sent: WorkerMessage[] = []
  const outbox = createOutbox({
    ...{ isolate: 1, flow, post: (message: WorkerMessage) => sent.push(message), complete: () => [] },
    isOverBudget: () => true,
  })
  for (let number = 0; number < batchOperationLimit; number += 1)
    outbox.send({ kind: 'limitReached', limit: 'timers' })
  const woken: string[] = []
  // A task, and one that serves another plugin on top of it.
  for (const name of ['task', 'call']) {
    const waiting = outbox.pause()
    assert.ok(waiting !== undefined)
    waiting.wake = () => woken.push(name)
  }
  Atomics.store(cells, flowCells.credit, creditLimit)
  outbox.flush()
  assert.deepEqual([woken, sent.length, outbox.pause()], [['task', 'call'], 1, undefined])
  outbox.close()
})

test('what a callback does goes out together, although it was set aside in its midst, unless it is for long', async () => {
  const flow = new SharedArrayBuffer(64)
  Atomics.store(new Int32Array(flow), flowCells.credit, creditLimit)
  const sent: WorkerMessage[] = []
  let isAside = true
  let time = 0
  const outbox = createOutbox({
    ...{ isolate: 1, flow, post: (message: WorkerMessage) => sent.push(message), complete: () => [] },
    isSuspended: () => isAside,
    isOverBudget: () => true,
    now: () => time,
  })
  const turn = async (): Promise<number[]> => {
    await setImmediate()
    return sent.map((message) => (message.kind === 'batch' ? message.operations.length : 0))
  }
  outbox.send({ kind: 'limitReached', limit: 'timers' })
  await turn()
  outbox.send({ kind: 'limitReached', limit: 'objects' })
  assert.deepEqual(await turn(), [])
  isAside = false
  assert.deepEqual(await turn(), [2])
  isAside = true
  outbox.send({ kind: 'limitReached', limit: 'timers' })
  time = 49
  assert.deepEqual(await turn(), [2])
  time = 100
  assert.deepEqual(await turn(), [2, 1])
  outbox.close()
})
