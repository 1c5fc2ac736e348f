import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createScheduler, type Task } from '../../../src/sandbox/flow/scheduler.ts'

/** A scheduler whose time passes only in tasks. */
function createStage() {
  let now = 0
  const { createQueue } = createScheduler(() => now)
  return {
    createQueue,
    pass(milliseconds: number): void {
      now += milliseconds
    },
    /** A task of some steps that takes so long for each; `done` hears of each. */
    task(steps: number, milliseconds: number, done: () => void): Task {
      let left = steps
      return () => {
        now += milliseconds
        left -= 1
        done()
        return left === 0
      }
    },
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what one asks for is done in order, at once as long as there is room in the turn', async () => {
  const stage = createStage()
  const queue = stage.createQueue()
  const order: number[] = []
  queue.add(stage.task(1, 0.1, () => order.push(1)))
  assert.deepEqual(order, [1])
  for (const number of [2, 3, 4, 5]) queue.add(stage.task(2, 1, () => order.push(number)))
  await queue.idle()
  assert.deepEqual(order, [1, 2, 2, 3, 3, 4, 4, 5, 5])
  await queue.idle()
  // A turn in which nobody has asked for anything.
  await turn()
  queue.add(stage.task(1, 0.1, () => order.push(6)))
  assert.equal(order.at(-1), 6)
})

test('the event loop has its turn after every few milliseconds of work, in one task or in many', async () => {
  for (const [tasks, steps] of [
    [1, 100],
    [100, 1],
  ] as const) {
    const stage = createStage()
    const queue = stage.createQueue()
    let done = 0
    const seen: number[] = []
    const look = (): void => {
      seen.push(done)
      if (done < 100) setImmediate(look)
    }
    setImmediate(look)
    for (let task = 0; task < tasks; task += 1) queue.add(stage.task(steps, 1, () => (done += 1)))
    await queue.idle()
    const most = Math.max(...seen.map((count, index) => count - (seen[index - 1] ?? 0)))
    assert.ok(most <= 3, `${most} ms at a stretch in ${tasks} tasks`)
  }
})

test('whoever has had least of the thread is next: a flood holds up nobody who asks for little', async () => {
  const stage = createStage()
  const flood = stage.createQueue()
  const modest = stage.createQueue()
  let flooded = 0
  for (let count = 0; count < 1_000; count += 1) flood.add(stage.task(1, 0.4, () => (flooded += 1)))
  await turn()
  const before = flooded
  let done = 0
  for (let count = 0; count < 5; count += 1) modest.add(stage.task(1, 0.4, () => (done += 1)))
  await modest.idle()
  assert.equal(done, 5)
  assert.ok(flooded - before <= 10, `it waited for ${flooded - before} others`)
  await flood.idle()
  assert.equal(flooded, 1_000)
})

test('two that ask for much get the same time, however dear the steps of the one are', async () => {
  const stage = createStage()
  const counts = { cheap: 0, dear: 0 }
  const cheap = stage.createQueue()
  const dear = stage.createQueue()
  cheap.add(stage.task(100_000, 0.1, () => (counts.cheap += 1)))
  dear.add(stage.task(1_000, 1, () => (counts.dear += 1)))
  while (counts.dear < 500) await turn()
  const ratio = (counts.cheap * 0.1) / counts.dear
  assert.ok(ratio > 0.8 && ratio < 1.25, `${ratio}`)
  await Promise.all([cheap.idle(), dear.idle()])
})

test('what follows from work counts as work of the one who has caused it', async () => {
  const stage = createStage()
  const counts = { quiet: 0, loud: 0 }
  const quiet = stage.createQueue()
  const loud = stage.createQueue()
  quiet.add(stage.task(10_000, 0.2, () => (counts.quiet += 1)))
  // Each step has the loop do four times as much again.
  loud.add(
    stage.task(10_000, 0.2, () => {
      counts.loud += 1
      setImmediate(() => stage.pass(0.8))
    }),
  )
  while (counts.loud < 500) await turn()
  const ratio = counts.quiet / counts.loud
  assert.ok(ratio > 1.5, `${ratio}`)
  await Promise.all([quiet.idle(), loud.idle()])
})

test('who comes back after a rest has no claim to the time of its absence', async () => {
  const stage = createStage()
  const steady = stage.createQueue()
  const resting = stage.createQueue()
  const counts = { steady: 0, resting: 0 }
  steady.add(stage.task(20_000, 0.2, () => (counts.steady += 1)))
  while (counts.steady < 5_000) await turn()
  const before = counts.steady
  resting.add(stage.task(1_000, 0.2, () => (counts.resting += 1)))
  await resting.idle()
  assert.ok(counts.steady - before > 700, `only ${counts.steady - before} meanwhile`)
  await steady.idle()
})
