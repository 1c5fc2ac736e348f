import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultLimits } from '../../src/sandbox/limits.ts'
import type { ThreadTimes } from '../../src/sandbox/threads/thread-times.ts'
import { createTurnWatchdog } from '../../src/sandbox/threads/turn-watchdog.ts'
import { createTurns, type MemoryInUse } from '../../src/sandbox/worker/scheduling/turns.ts'
import { turnCells } from '../../src/schema/worker/shared-cells.ts'
import type { Excess } from '../../src/schema/worker/worker-protocol.ts'
import { createManualClock } from '../helpers/manual-clock.ts'

/** Both ends of the cells in one thread; time and memory are moved by hand. */
function stage() {
  const manual = createManualClock()
  let share = 1
  let ofThread: ThreadTimes | undefined
  const clock = { ...manual, processorTime: () => manual.monotonic() * share }
  const limits = { ...defaultLimits, beatInterval: 50, stretchBeats: 8, loadBeats: 16, hangBeats: 8 }
  const hung: number[] = []
  const watch = createTurnWatchdog({
    clock,
    limits,
    threadTimes: () =>
      ofThread && {
        ran: manual.monotonic() * ofThread.ran,
        waited: manual.monotonic() * ofThread.waited,
      },
    hung: (isolate) => hung.push(isolate),
  })
  const used: MemoryInUse = { heap: 1_000, outside: 0 }
  const told: [isolate: number, excess: Excess][] = []
  let garbage = 0
  let collections = 0
  let collecting = 0
  let resumed = 0
  const afterTurn: (() => void)[] = []
  const turns = createTurns({
    rules: { ...watch.rules, heapBytes: 10_000, outsideBytes: 10_000, sparedBytes: 2_000 },
    memory: () => ({ heap: used.heap, outside: used.outside + garbage }),
    collectGarbage: () => {
      collections += 1
      beats(collecting)
      garbage = 0
    },
    afterTurn: (callback) => afterTurn.push(callback),
    exceeded: (isolate, excess) => told.push([isolate, excess]),
    resumeBeats: () => {
      resumed += 1
      watch.start()
    },
  })
  const beats = (count: number): void => {
    for (let beat = 0; beat < count; beat += 1) clock.advance(50)
  }
  watch.start()
  return {
    beats,
    /** The processor is this process's for a share of the time. */
    hasProcessorFor: (wanted: number) => void (share = wanted),
    /** The worker's thread runs, and waits for a processor, for a share of the time each. */
    threadHas: (shares: ThreadTimes) => void (ofThread = shares),
    /** A collection takes so many beats. */
    collectsFor: (count: number) => void (collecting = count),
    ...{ clock, watch, hung, used, told, turns },
    leave: (bytes: number) => void (garbage += bytes),
    collections: () => collections,
    resumed: () => resumed,
    isBeating: () => manual.waiting === 1,
    endTurn: () => {
      for (const callback of afterTurn.splice(0)) callback()
    },
    cell: (name: 'running' | 'last' | 'largest') =>
      Atomics.load(new Int32Array(watch.rules.cells), turnCells[name]),
  }
}

test('§6 a turn has so many beats; over all that is due in one turn of the event loop', () => {
  const { turns, told, beats, endTurn } = stage()
  for (const isolate of [1, 2]) turns.loaded(isolate)
  turns.run(1, () => beats(5))
  endTurn()
  turns.run(1, () => {
    beats(5)
    assert.equal(turns.excess(1), undefined)
  })
  turns.run(2, () => beats(5))
  assert.deepEqual(told, [])
  turns.run(1, () => {
    beats(3)
    assert.equal(turns.excess(1), 'time')
  })
  assert.deepEqual(told, [[1, 'time']])
  // It stays so until its clean-up, which has a stretch of its own.
  endTurn()
  assert.equal(turns.excess(1), 'time')
  turns.renew(1)
  turns.run(1, () => {
    beats(7)
    assert.equal(turns.excess(1), undefined)
    beats(1)
    assert.equal(turns.excess(1), 'time')
  })
  assert.deepEqual(told, [[1, 'time']])
})

test('§6 whoever waits for a neighbour in the same worker does not pay for its time', () => {
  const { turns, told, beats } = stage()
  for (const isolate of [1, 2]) turns.loaded(isolate)
  turns.run(1, () => {
    beats(4)
    turns.run(2, () => {
      beats(8)
      assert.equal(turns.excess(2), 'time')
    })
    beats(3)
    assert.equal(turns.excess(1), undefined)
  })
  assert.deepEqual(told, [[2, 'time']])
})

test('§6 a load has twice the time, and one that takes half of the worker for long has to go', () => {
  const { turns, told, beats, endTurn } = stage()
  turns.run(1, () => {
    for (let beat = 1; beat <= 15; beat += 1) {
      beats(1)
      assert.equal(turns.excess(1), undefined)
    }
  })
  turns.loaded(1)
  turns.loaded(2)
  endTurn()
  for (let round = 0; round < 30; round += 1) {
    turns.run(1, () => beats(4))
    endTurn()
    turns.run(2, () => beats(1))
    endTurn()
  }
  assert.deepEqual(told, [[1, 'time']])
})

test('§6 who has left garbage that is collected in a turn of another, or in nobody’s, does not go for it', () => {
  for (const collectedBy of [2, undefined]) {
    const { turns, told, used } = stage()
    turns.run(1, () => void (used.heap += 7_000))
    if (collectedBy === undefined) used.heap -= 7_000
    else turns.run(collectedBy, () => void (used.heap -= 7_000))
    turns.run(2, () => void (used.heap += 5_000))
    turns.run(3, () => void (used.heap += 4_000))
    assert.deepEqual(told, [[2, 'memory']])
  }
})

test('§6 a leak does not go unseen beside a neighbour that makes garbage, whosever turn it is collected in', () => {
  for (const collectedBy of [1, 2, 3]) {
    const { turns, told, used } = stage()
    turns.run(3, () => void (used.heap += 10))
    for (let round = 0; round < 20; round += 1) {
      for (let turn = 0; turn < 5; turn += 1) {
        turns.run(1, () => void (used.heap += 100))
        turns.run(2, () => void (used.heap += 400))
      }
      turns.run(collectedBy, () => void (used.heap -= 2_000))
    }
    assert.deepEqual(told, [[1, 'memory']])
  }
})

test('§6 nobody has to go for what one that was told to, and has ended, leaves for a moment', () => {
  const { turns, told, used } = stage()
  turns.run(2, () => void (used.heap += 3_000))
  turns.run(1, () => void (used.heap += 8_000))
  turns.forget(1)
  turns.run(2, () => void (used.heap += 10))
  used.heap -= 8_000
  turns.run(2, () => undefined)
  assert.deepEqual(told, [[1, 'memory']])
})

test('§6 what an isolate that has ended leaves to be collected is not taken from those that stay', () => {
  const { turns, told, used } = stage()
  turns.run(1, () => void (used.heap += 4_500))
  turns.run(2, () => void (used.heap += 3_000))
  turns.forget(2)
  turns.run(3, () => void (used.heap -= 3_000))
  turns.run(3, () => void (used.heap += 4_000))
  turns.run(4, () => void (used.heap += 1_000))
  assert.deepEqual(told, [[1, 'memory']])
})

test('§6 when memory is short the isolate has to go for which it has grown most, and only one at a time', () => {
  const { turns, told, used, cell, endTurn } = stage()
  turns.run(1, () => void (used.heap += 6_000))
  turns.run(2, () => void (used.heap += 2_000))
  // One that makes much and leaves nothing has not grown.
  turns.run(3, () => {
    used.heap += 900
    turns.excess(3)
    used.heap -= 900
  })
  endTurn()
  assert.equal(cell('largest'), 1)
  assert.deepEqual(told, [])
  turns.run(2, () => {
    used.heap += 1_500
    turns.excess(2)
    turns.excess(2)
  })
  turns.run(3, () => undefined)
  assert.deepEqual(told, [[1, 'memory']])
  turns.forget(1)
  assert.equal(cell('largest'), 0)
})

test('§6 who has given its memory back is not the one that has grown most any more', () => {
  const { turns, used, cell, endTurn } = stage()
  turns.run(1, () => void (used.heap += 5_000))
  turns.run(2, () => void (used.heap += 1_000))
  turns.run(3, () => void (used.heap += 2_000))
  endTurn()
  assert.equal(cell('largest'), 1)
  turns.run(1, () => void (used.heap -= 4_500))
  endTurn()
  assert.equal(cell('largest'), 3)
  turns.forget(3)
  turns.run(1, () => undefined)
  endTurn()
  assert.equal(cell('largest'), 2)
})

test('§6 a stretch ends with the turn of the event loop, also for one that is called again long after', () => {
  const { turns, told, beats, endTurn } = stage()
  for (const isolate of [1, 2]) turns.loaded(isolate)
  turns.run(1, () => beats(7))
  endTurn()
  for (let turn = 0; turn < 5; turn += 1) {
    turns.run(2, () => beats(1))
    endTurn()
  }
  turns.run(1, () => beats(7))
  assert.deepEqual(told, [])
  turns.run(1, () => beats(1))
  assert.deepEqual(told, [[1, 'time']])
})

test('§6 who takes its time to go is to blame for what it keeps, and nobody goes in its place', () => {
  const { turns, told, used, beats, endTurn, watch } = stage()
  turns.run(1, () => void (used.heap += 1_000))
  turns.run(2, () => void (used.heap += 9_000))
  endTurn()
  assert.deepEqual(told, [[2, 'memory']])
  for (let second = 0; second < 20; second += 1) {
    beats(20)
    turns.run(1, () => {
      used.heap += 100
      // Whoever runs when nothing fits any more has not filled the worker.
      assert.equal(watch.culprit('memory'), 2)
    })
    endTurn()
  }
  assert.deepEqual(told, [[2, 'memory']])
  assert.equal(watch.culprit('memory'), 2)
  beats(100)
  turns.run(1, () => void (used.heap += 8_000))
  assert.deepEqual(told, [
    [2, 'memory'],
    [1, 'memory'],
  ])
  turns.forget(1)
  turns.run(3, () => assert.equal(watch.culprit('memory'), 3))
})

test('§6 nobody has to go for garbage, and it is not collected for each byte more', () => {
  const { turns, told, used, leave, collections } = stage()
  turns.run(1, () => void (used.outside += 4_000))
  for (let round = 0; round < 10; round += 1) {
    turns.run(2, () => leave(6_000))
    turns.run(1, () => undefined)
    turns.run(2, () => undefined)
  }
  assert.deepEqual(told, [])
  assert.equal(collections(), 10)
  // What is in use is close to the limit: garbage is looked for again when a quarter of the room has come to it.
  turns.run(1, () => void (used.outside += 5_900))
  turns.run(2, () => leave(100))
  assert.equal(collections(), 11)
  for (let round = 0; round < 24; round += 1) turns.run(2, () => leave(100))
  assert.equal(collections(), 11)
  turns.run(2, () => leave(100))
  assert.equal(collections(), 12)
  assert.deepEqual(told, [])
  turns.run(1, () => void (used.outside += 3_000))
  assert.deepEqual(told, [[1, 'memory']])
})

test('§6 the host knows who hangs, after so many beats without a sign and not by the clock', () => {
  const { clock, turns, hung, beats, watch } = stage()
  turns.run(3, () => {
    beats(7)
    // Lua, when asked whether it takes too long, is a sign.
    turns.excess(3)
    beats(7)
    // A host that slept, or was busy for an hour, beats once.
    clock.advance(50)
    turns.excess(3)
    assert.deepEqual(hung, [])
    turns.run(4, () => {
      beats(9)
      assert.equal(watch.culprit('other'), 4)
    })
  })
  assert.deepEqual(hung, [4])
})

test('§6 the host beats no more after a while without a turn, and anew with the next, which has all of its time', () => {
  const { clock, turns, hung, told, beats, endTurn, resumed, isBeating } = stage()
  turns.loaded(1)
  turns.run(1, () => beats(1))
  endTurn()
  beats(2)
  assert.ok(isBeating())
  beats(1)
  assert.ok(!isBeating())
  clock.advance(3_600_000)
  turns.run(1, () => {
    assert.ok(isBeating())
    turns.run(2, () => undefined)
    beats(7)
  })
  turns.run(1, () => undefined)
  assert.deepEqual([resumed(), hung, told], [1, [], []])
  endTurn()
  beats(3)
  assert.ok(!isBeating())
  // One that hangs is seen as soon as any other.
  turns.run(1, () => beats(8))
  assert.deepEqual([resumed(), hung], [2, [1]])
  assert.ok(!isBeating())
})

test('§6 time for which the host did not beat, as nobody had a turn, is time that nobody kept the worker', () => {
  for (const [rest, excess] of [
    [0, [[1, 'time']]],
    [1_000, []],
  ] as const) {
    const { clock, turns, told, beats, endTurn } = stage()
    turns.loaded(1)
    for (let round = 0; round < 20; round += 1) {
      turns.run(1, () => beats(7))
      endTurn()
      beats(3)
      clock.advance(rest)
    }
    assert.deepEqual(told, excess, `${rest} ms`)
  }
})

test('§6 a turn that begins just when the host stops to beat is not left without', (context) => {
  const { watch, beats, isBeating } = stage()
  const cells = new Int32Array(watch.rules.cells)
  const store = Atomics.store.bind(Atomics) as (array: Int32Array, index: number, value: number) => number
  context.mock.method(Atomics, 'store', (array: Int32Array, index: number, value: number) => {
    // The worker has looked before the host said so.
    if (index === turnCells.paused && value === 1) store(cells, turnCells.running, 1)
    return store(array, index, value)
  })
  beats(2)
  assert.equal(Atomics.load(cells, turnCells.running), 1)
  assert.ok(isBeating())
  assert.equal(Atomics.load(cells, turnCells.paused), 0)
})

test('§6 a beat is longer where other processes have the processor, and three times as long at most', () => {
  const { turns, hung, beats, hasProcessorFor } = stage()
  hasProcessorFor(0.5)
  turns.run(3, () => {
    beats(15)
    assert.deepEqual(hung, [])
    turns.excess(3)
    beats(15)
    assert.deepEqual(hung, [])
    beats(3)
    assert.deepEqual(hung, [3])
  })
  const waiting = stage()
  waiting.hasProcessorFor(0)
  waiting.turns.run(3, () => {
    waiting.beats(26)
    assert.deepEqual(waiting.hung, [])
    waiting.beats(1)
    assert.deepEqual(waiting.hung, [3])
  })
})

test('§6 a beat is longer while the thread has no processor, and five times as long at most', () => {
  // The process as a whole has all the time that it wants: other threads of it take it.
  for (const { ticks, ...shares } of [
    { ran: 1, waited: 0, ticks: 1 },
    { ran: 0.5, waited: 0.5, ticks: 2 },
    { ran: 0, waited: 1, ticks: 5 },
    // It waits for something else: for V8's other threads, or for the host.
    { ran: 0.5, waited: 0, ticks: 2 },
    { ran: 0, waited: 0.1, ticks: 3 },
  ]) {
    const { turns, hung, beats, threadHas } = stage()
    threadHas(shares)
    turns.run(3, () => {
      // The first one sees that it has begun.
      beats(1 + 8 * ticks - 1)
      assert.deepEqual(hung, [])
      beats(1)
      assert.deepEqual(hung, [3])
    })
  }
})

test('§6 nobody pays for the time that it takes to collect garbage, and nobody hangs in it', () => {
  const { turns, told, hung, beats, leave, collections, collectsFor } = stage()
  for (const isolate of [1, 2]) turns.loaded(isolate)
  collectsFor(100)
  turns.run(1, () => void leave(10_000))
  turns.run(2, () => {
    leave(10_000)
    assert.equal(turns.excess(2), undefined)
    beats(1)
    assert.equal(turns.excess(2), undefined)
  })
  assert.equal(collections(), 2)
  assert.deepEqual([hung, told], [[], []])
})

test('§6 the end of a worker is put down to the one that runs, else for memory to the one that grew most, else to the last', () => {
  const { turns, used, watch, endTurn } = stage()
  assert.equal(watch.culprit('other'), undefined)
  turns.run(1, () => void (used.heap += 3_000))
  turns.run(2, () => {
    assert.equal(watch.culprit('memory'), 2)
    assert.equal(watch.culprit('other'), 2)
  })
  endTurn()
  assert.equal(watch.culprit('memory'), 1)
  assert.equal(watch.culprit('other'), 2)
})

test('§6 where the machine is short of memory the isolate that has grown most goes, also when nobody has a turn', () => {
  const { turns, told, used, watch, collections } = stage()
  turns.run(1, () => void (used.heap += 3_000))
  turns.run(2, () => void (used.heap += 2_000))
  turns.makeRoom()
  assert.deepEqual([told, collections()], [[], 0])
  watch.evictLargest()
  turns.makeRoom()
  assert.deepEqual([told, collections()], [[[1, 'machine memory']], 1])
  turns.forget(1)
  watch.evictLargest()
  turns.makeRoom()
  assert.deepEqual(told, [[1, 'machine memory']], 'who has grown little stays')
})

test('§6 nobody goes for a want of memory that is over', () => {
  const { turns, told, used, watch, beats } = stage()
  turns.run(1, () => void (used.heap += 3_000))
  watch.evictLargest()
  beats(7)
  watch.evictLargest()
  beats(8)
  turns.run(1, () => undefined)
  assert.deepEqual(told, [])
  watch.evictLargest()
  beats(7)
  turns.run(1, () => undefined)
  assert.deepEqual(told, [[1, 'machine memory']])
})

test('§6 a want of memory that comes while the host does not beat is over as soon as any other', () => {
  const { turns, told, used, watch, beats, isBeating } = stage()
  turns.run(1, () => void (used.heap += 3_000))
  beats(3)
  assert.ok(!isBeating())
  watch.evictLargest()
  beats(8)
  turns.run(1, () => undefined)
  assert.deepEqual(told, [])
  beats(3)
  assert.ok(!isBeating())
})

test('§6 who runs when the machine has no memory left has not taken it, and how much somebody has is told within a turn', () => {
  const { turns, used, watch } = stage()
  turns.run(1, () => {
    used.heap += 3 * 1024
    assert.equal(turns.excess(1), undefined)
    assert.equal(watch.largestGrown(), 3 * 1024)
  })
  turns.run(2, () => assert.equal(watch.culprit('machine memory'), 1))
  turns.run(1, () => void (used.heap -= 2 * 1024))
  turns.collectGarbage()
  assert.equal(watch.largestGrown(), 1024)
  turns.forget(1)
  assert.equal(watch.largestGrown(), 0)
})
