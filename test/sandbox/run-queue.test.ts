import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createRunQueue, type Runner } from '../../src/sandbox/worker/scheduling/run-queue.ts'
import { collectGarbage } from '../helpers/collect-garbage.ts'
import { createManualClock } from '../helpers/manual-clock.ts'

/** A queue whose time is that which its runners take, and what they did: letters, in order. */
function stage(context: TestContext) {
  const clock = createManualClock()
  const queue = createRunQueue(clock)
  const did: string[] = []
  /** Does something that takes so many milliseconds, each time that it is asked to. */
  function runner(name: string, milliseconds: number, goesOn = () => false): Runner {
    const self: Runner = {
      isEnding: false,
      runSlice() {
        did.push(name)
        clock.pause(milliseconds)
        return goesOn()
      },
    }
    context.after(() => queue.remove(self))
    return self
  }
  /** One that wants the next slice as soon as it has had one. */
  const restless = (name: string, milliseconds: number): Runner => runner(name, milliseconds, () => true)
  /** Turns of the event loop, in each of which the queue gives one slice. */
  async function turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) await setImmediate()
  }
  return { clock, queue, did, runner, restless, turns }
}

test('one that keeps the worker for long rests while the other goes on for as long, step by step', async (context) => {
  const { queue, did, restless, runner, turns, clock } = stage(context)
  // An answer comes a millisecond after each step: the queue is empty in between.
  const step: Runner = runner('s', 1, () => {
    clock.schedule(1, () => queue.run(step))
    return false
  })
  queue.run(step)
  queue.add(restless('L', 54))
  for (let turn = 0; turn < 80; turn += 1) {
    await turns(1)
    clock.advance(1)
  }
  const [first = '', ...rounds] = did.join('').split('L')
  assert.equal(first, 's', 'it waits for nobody who has not kept the worker')
  // 54 ms, of which 4 are its slice: 50 ms in steps of 2.
  const complete = rounds.slice(0, -1).map((steps) => steps.length)
  assert.ok(complete.length >= 2, did.join(''))
  for (const steps of complete) assert.ok(steps >= 24 && steps <= 26, did.join(''))
})

test('it rests for each of those that wait', async (context) => {
  const { queue, did, restless, turns } = stage(context)
  queue.add(restless('L', 16))
  for (const name of ['a', 'b', 'c']) queue.add(restless(name, 2))
  await turns(80)
  const [, ...rounds] = did.join('').split('L')
  const complete = rounds.slice(0, -1)
  assert.ok(complete.length >= 2, did.join(''))
  for (const slices of complete) {
    // 14 ms beyond its slice of 2, for each of three, in slices of 2.
    assert.equal(slices.length, 21, did.join(''))
    for (const name of ['a', 'b', 'c']) assert.equal(slices.split(name).length - 1, 7)
  }
})

test('however long it has kept the worker, a rest has its limit', async (context) => {
  const { queue, did, restless, turns } = stage(context)
  queue.add(restless('L', 300))
  queue.add(restless('a', 2))
  await turns(60)
  const [, ...rounds] = did.join('').split('L')
  assert.deepEqual(
    rounds.slice(0, -1).map((slices) => slices.length),
    [25, 25],
    did.join(''),
  )
})

test('it does not rest where nobody else wants the worker, and no longer than a quarter where nobody does any more', async (context) => {
  const { queue, did, restless, runner, turns, clock } = stage(context)
  const long = restless('L', 44)
  queue.add(long)
  await turns(5)
  assert.equal(did.join(''), 'LLLLL', 'alone')
  queue.add(runner('s', 1))
  await turns(6)
  assert.equal(did.join(''), 'LLLLLLs', 'the other waited for it')
  assert.equal(clock.waiting, 1)
  clock.advance(9.9)
  await turns(2)
  assert.equal(did.join(''), 'LLLLLLs', 'less than a quarter of 40 ms')
  clock.advance(0.1)
  await turns(2)
  // Somebody else has had the worker since its slice before.
  assert.equal(did.join(''), 'LLLLLLsL')
  clock.advance(10)
  await turns(4)
  assert.match(did.join(''), /^L{6}sL{4,}$/, 'alone again')
  assert.equal(clock.waiting, 0)
})

test('one that rests does not begin at once where nobody waits, and does when it has rested', async (context) => {
  const { queue, did, runner, turns, clock } = stage(context)
  const long = runner('L', 54)
  queue.run(runner('s', 1))
  queue.run(long)
  assert.equal(did.join(''), 'sL')
  queue.run(long)
  await turns(2)
  assert.equal(did.join(''), 'sL')
  clock.advance(12.5)
  await turns(2)
  assert.equal(did.join(''), 'sLL')
  queue.run(runner('s', 1))
  queue.run(runner('s', 1))
  assert.equal(did.join(''), 'sLLss', 'others begin at once')
})

test('two that take as long go on in turn, without a pause', async (context) => {
  const { queue, did, restless, turns, clock } = stage(context)
  queue.add(restless('a', 50))
  queue.add(restless('b', 50))
  await turns(12)
  assert.equal(did.join(''), 'abababababab')
  assert.equal(clock.waiting, 0)
})

test('a little more than its slice costs nobody a rest', async (context) => {
  const { queue, did, restless, turns } = stage(context)
  queue.add(restless('a', 12))
  queue.add(restless('b', 1))
  await turns(10)
  assert.equal(did.join(''), 'ababababab')
})

test('one that ends does not rest, nor does one that somebody waits for who keeps the event loop', async (context) => {
  const { queue, did, restless, runner, turns } = stage(context)
  const long = restless('L', 54)
  queue.add(runner('s', 1))
  queue.add(long)
  await turns(4)
  assert.equal(did.join(''), 'sL', 'it rests')
  assert.ok(queue.runOne())
  assert.equal(did.join(''), 'sLL')
  const last: Runner = { ...runner('E', 54), isEnding: true }
  queue.add(runner('s', 1))
  queue.add(last)
  await turns(1)
  queue.add(last)
  await turns(3)
  assert.equal(did.filter((name) => name === 'E').length, 2, did.join(''))
})

test('one that ends does not rest after a slice beside which others had none', async (context) => {
  const { queue, did, restless, runner, turns, clock } = stage(context)
  const last: Runner = { ...restless('E', 54), isEnding: true }
  context.after(() => queue.remove(last))
  queue.add(runner('s', 1))
  queue.add(last)
  await turns(6)
  assert.equal(did.join(''), 'EsEEEE')
  assert.equal(clock.waiting, 0)
})

test('one that has others served while it waits does not rest for the time that they took', async (context) => {
  const { queue, did, runner, restless, turns } = stage(context)
  const caller = runner('c', 1, () => {
    queue.add(runner('m', 40))
    return queue.runOne()
  })
  queue.add(restless('s', 1))
  queue.add(caller)
  await turns(6)
  assert.equal(did.join('').replaceAll('s', '').slice(0, 4), 'cmcm', did.join(''))
})

/** One that takes so many milliseconds, and goes in its slice; nothing here holds it. */
function goneRunner({ queue, clock }: ReturnType<typeof stage>, milliseconds: number): WeakRef<Runner> {
  const runner: Runner = {
    isEnding: false,
    runSlice() {
      clock.pause(milliseconds)
      queue.remove(runner)
      return false
    },
  }
  queue.run(runner)
  return new WeakRef(runner)
}

test('who has gone in its own slice is held by nobody, also where nobody else wants the worker', async (context) => {
  const staged = stage(context)
  const gone = goneRunner(staged, 0)
  // What a weak reference has made stays until the turn of the event loop has ended.
  await staged.turns(2)
  collectGarbage()
  assert.equal(gone.deref(), undefined)
})

test('nor if it has kept the worker for so long that it would have to rest', async (context) => {
  const staged = stage(context)
  staged.queue.run(staged.runner('a', 1))
  const gone = goneRunner(staged, 54)
  await staged.turns(2)
  collectGarbage()
  assert.equal(gone.deref(), undefined)
})

test('nobody is waited for who has gone', async (context) => {
  const { queue, did, restless, runner, turns, clock } = stage(context)
  const long = restless('L', 54)
  queue.add(runner('s', 1))
  queue.add(long)
  await turns(4)
  assert.equal(clock.waiting, 1)
  queue.remove(long)
  assert.equal(clock.waiting, 0)
  queue.run(long)
  assert.equal(did.join(''), 'sLL', 'and one that comes anew has nothing to rest for')
})
