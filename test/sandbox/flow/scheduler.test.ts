import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createScheduler, type Task } from '../../../src/sandbox/flow/scheduler.ts'

/** A scheduler whose time passes only in tasks. */
function createStage() {
  let now = 0
  let looks = 0
  const createQueue = createScheduler(() => {
    looks += 1
    return now
  })
  return {
    createQueue,
    now: () => now,
    /** How often the time was asked for. */
    looks: () => looks,
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
  await turn()
  // So little that the clock does not show it.
  queue.add(stage.task(1, 0, () => order.push(7)))
  await turn()
  queue.add(stage.task(1, 0.1, () => order.push(8)))
  await queue.idle()
  assert.equal(order.at(-1), 8)
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
    // Without a turn of the event loop in between nobody has looked.
    seen.push(done)
    assert.equal(done, 100)
    const most = Math.max(...seen.map((count, index) => count - (seen[index - 1] ?? 0)))
    assert.ok(most <= 3, `${most} ms at a stretch in ${tasks} tasks`)
  }
})

test('what follows from work belongs to the turn, and some work is done however much that is', async () => {
  const step = 0.125
  for (const [following, expected] of [
    [0, 2],
    // Of two milliseconds every fifth is work: four steps.
    [4, 4 * step * 5],
    // A quarter of a millisecond is left.
    [100, 0.25 * 101],
  ] as const) {
    const stage = createStage()
    const queue = stage.createQueue()
    queue.add(
      stage.task(5_000, step, () => {
        if (following > 0) setImmediate(() => stage.pass(step * following))
      }),
    )
    // What follows from work is known by then.
    for (let count = 0; count < 100; count += 1) await turn()
    const before = stage.now()
    for (let count = 0; count < 10; count += 1) await turn()
    assert.equal((stage.now() - before) / 10, expected, `with ${following} times as much that follows`)
    await queue.idle()
  }
})

test('one has the thread for half a millisecond at a stretch while another waits', async () => {
  const stage = createStage()
  const order: string[] = []
  for (const name of ['a', 'b']) {
    const queue = stage.createQueue()
    for (let count = 0; count < 100; count += 1) queue.add(stage.task(1, 0.125, () => order.push(name)))
  }
  while (order.length < 200) await turn()
  const both = order.slice(order.indexOf('b'), order.lastIndexOf('a'))
  const stretches = both.join('').match(/a+|b+/g)?.slice(1, -1) ?? []
  assert.ok(stretches.length > 10)
  assert.deepEqual(new Set(stretches), new Set(['aaaa', 'bbbb']))
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
  quiet.add(stage.task(10_000, 0.125, () => (counts.quiet += 1)))
  // Each step takes a turn, and has the loop do twice as much again.
  loud.add(
    stage.task(200, 2, () => {
      counts.loud += 1
      setImmediate(() => stage.pass(4))
    }),
  )
  while (counts.loud < 100) await turn()
  const each = (counts.quiet * 0.125) / counts.loud
  // Somewhat less than 6: where both have work in one turn each has its part of what follows.
  assert.ok(each > 4 && each < 6, `${each} ms of the one for 2 and what follows of the other`)
  await Promise.all([quiet.idle(), loud.idle()])
})

test('when all is done there is nothing to do any more, not in any turn', async () => {
  const stage = createStage()
  const queue = stage.createQueue()
  queue.add(stage.task(10, 1, () => undefined))
  await queue.idle()
  // What follows from the last work.
  for (let count = 0; count < 3; count += 1) await turn()
  const looks = stage.looks()
  for (let count = 0; count < 3; count += 1) await turn()
  assert.equal(stage.looks(), looks)
})

test('what a task asks for is done behind it', async () => {
  const stage = createStage()
  const queue = stage.createQueue()
  const order: string[] = []
  queue.add(
    stage.task(2, 0.125, () => {
      order.push('asks')
      queue.add(stage.task(1, 0.125, () => order.push('asked for')))
    }),
  )
  await queue.idle()
  assert.deepEqual(order, ['asks', 'asks', 'asked for', 'asked for'])
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
