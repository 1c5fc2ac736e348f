import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createPoller, type PollerSettings } from '../../src/sandbox/worker/plugin-api/timing/poller.ts'
import { createManualClock, type ManualClock } from '../helpers/manual-clock.ts'

interface Stage {
  clock: ManualClock
  /** When each attempt began, in milliseconds from the start. */
  begun: number[]
  failures: unknown[]
  poller: ReturnType<typeof createPoller<string>>
}

/** A poller whose task is `task`; unless said otherwise it answers at once, and there is no schedule. */
function stage(
  task: (done: (error?: string) => void, attempt: number) => void = (done) => done(),
  settings: Partial<PollerSettings<string>> = {},
): Stage {
  const clock = createManualClock()
  const begun: number[] = []
  const failures: unknown[] = []
  const poller = createPoller<string>({
    clock,
    interval: 0,
    immediate: false,
    initialDelay: undefined,
    timeout: 30_000,
    maxAttempts: 1,
    backoff: 1_000,
    timeoutError: 'timeout',
    tick(done) {
      begun.push(clock.monotonic())
      task(done, begun.length)
    },
    thrown: (error) => (error as Error).message,
    failed: (error, { errorCount }) => failures.push([error, errorCount]),
    succeeded: () => undefined,
    changed: () => undefined,
    ...settings,
  })
  return { clock, begun, failures, poller }
}

test('§5 it runs at every interval, from the first interval on', () => {
  const { clock, begun, poller } = stage(undefined, { interval: 100 })
  poller.start()
  poller.start()
  clock.advance(350)
  assert.deepEqual(begun, [100, 200, 300])
})

test('§5 immediate adds a run at the start, and initialDelay says when the first one is', () => {
  const immediate = stage(undefined, { interval: 100, immediate: true })
  immediate.poller.start()
  immediate.clock.advance(250)
  assert.deepEqual(immediate.begun, [0, 100, 200])
  const delayed = stage(undefined, { interval: 100, initialDelay: 30 })
  delayed.poller.start()
  delayed.clock.advance(250)
  assert.deepEqual(delayed.begun, [30, 130, 230])
})

test('§5 without an interval there is no schedule, only immediate and poll', () => {
  const { clock, begun, poller } = stage(undefined, { immediate: true })
  poller.start()
  clock.advance(1_000_000)
  poller.poll()
  assert.deepEqual(begun, [0, 1_000_000])
})

test('§5 a scheduled run is left out while one runs, and poll queues exactly one more', () => {
  const waiting: (() => void)[] = []
  const { clock, begun, poller } = stage((done) => waiting.push(done), { interval: 100 })
  poller.start()
  clock.advance(350)
  assert.deepEqual(begun, [100])
  for (let i = 0; i < 3; i += 1) poller.poll()
  waiting[0]?.()
  clock.advance(0)
  assert.deepEqual(begun, [100, 350])
  waiting[1]?.()
  clock.advance(100)
  assert.deepEqual(begun, [100, 350, 400])
})

test('§5 retries wait the backoff, and twice as long each time, and onError comes after the last', () => {
  const { clock, begun, failures, poller } = stage((done, attempt) => done(`failure ${attempt}`), {
    maxAttempts: 4,
    backoff: 10,
  })
  poller.poll()
  clock.advance(1_000)
  assert.deepEqual(begun, [0, 10, 30, 70])
  assert.deepEqual(failures, [['failure 4', 1]])
  assert.deepEqual(poller.stats().lastError, 'failure 4')
})

test('§5 a task that throws has failed, and one that recovers has not', () => {
  const { clock, failures, poller } = stage(
    (done, attempt) => {
      if (attempt === 1) throw new Error('raised')
      done()
    },
    { maxAttempts: 2 },
  )
  poller.poll()
  clock.advance(1_000)
  assert.deepEqual([failures, poller.stats().tickCount, poller.stats().errorCount], [[], 1, 0])
  const hopeless = stage(() => {
    throw new Error('raised')
  })
  hopeless.poller.poll()
  assert.deepEqual(hopeless.failures, [['raised', 1]])
})

test('§5 a run that takes too long fails with timeout once, and a late answer is ignored', () => {
  const waiting: ((error?: string) => void)[] = []
  const { clock, failures, poller } = stage((done) => waiting.push(done), { timeout: 500, maxAttempts: 3 })
  poller.poll()
  clock.advance(10_000)
  waiting[0]?.('late')
  waiting[0]?.()
  assert.deepEqual(failures, [['timeout', 1]])
  assert.equal(poller.stats().inFlight, false)
  assert.equal(clock.waiting, 0)
})

test('§5 an answer that has come while the host was paused is none that takes too long, and silence after that is', () => {
  const waiting: (() => void)[] = []
  const { clock, failures, poller } = stage((done) => waiting.push(done), { timeout: 500 })
  for (const answers of [true, false]) {
    poller.poll()
    clock.pause(60_000)
    clock.advance(0)
    if (answers) waiting[0]?.()
    assert.deepEqual([failures, poller.stats().inFlight], [[], !answers])
  }
  clock.advance(500)
  assert.deepEqual(failures, [['timeout', 1]])
})

test('§5 only the first answer of an attempt counts', () => {
  const { clock, begun, failures, poller } = stage(
    (done, attempt) => {
      done(attempt === 1 ? 'first' : undefined)
      done('second')
      done()
      throw new Error('third')
    },
    { maxAttempts: 2, backoff: 10 },
  )
  poller.poll()
  clock.advance(100)
  assert.deepEqual([begun, failures], [[0, 10], []])
})

test('§5 stop ends schedule and retries, lets the running task finish, and start works again', () => {
  const waiting: ((error?: string) => void)[] = []
  const { clock, begun, failures, poller } = stage((done) => waiting.push(done), {
    interval: 100,
    maxAttempts: 5,
    backoff: 10,
  })
  poller.start()
  clock.advance(100)
  poller.stop()
  assert.equal(poller.stats().inFlight, true)
  waiting[0]?.('failed')
  assert.deepEqual(failures, [['failed', 1]])
  clock.advance(10_000)
  assert.deepEqual(begun, [100])
  assert.equal(clock.waiting, 0)
  poller.start()
  clock.advance(100)
  waiting[1]?.('failed')
  poller.stop()
  clock.advance(10_000)
  assert.deepEqual(begun, [100, 10_200])
  assert.deepEqual([poller.stats().inFlight, poller.stats().errorCount, clock.waiting], [false, 2, 0])
})

test('§5 closing it is silent, whatever it was doing', () => {
  const waiting: ((error?: string) => void)[] = []
  const { clock, failures, poller } = stage((done) => waiting.push(done), { interval: 100 })
  poller.start()
  clock.advance(100)
  poller.poll()
  poller.close()
  waiting[0]?.('late')
  clock.advance(100_000)
  assert.deepEqual([failures, poller.isActive(), clock.waiting], [[], false, 0])
})

type Step = ['start'] | ['stop'] | ['poll'] | ['answer', string | undefined] | ['wait', number]
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.constant<Step>(['start']),
    fc.constant<Step>(['stop']),
    fc.constant<Step>(['poll']),
    fc.option(fc.constant('failed'), { nil: undefined }).map((error): Step => ['answer', error]),
    fc.integer({ min: 0, max: 400 }).map((time): Step => ['wait', time]),
  ),
  { maxLength: 60, size: 'max' },
)

test('§5 whatever is done to it, one run at a time, each failure told once, and a stop leaves no timer', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 3 }), (list, maxAttempts) => {
      let open = 0
      let answer: ((error?: string) => void) | undefined
      const { clock, failures, poller } = stage(
        (done) => {
          open += 1
          assert.ok(poller.stats().inFlight)
          answer = (error) => {
            open -= 1
            done(error)
          }
        },
        { interval: 100, immediate: true, timeout: 1_000_000, maxAttempts, backoff: 20 },
      )
      for (const step of list) {
        if (step[0] === 'answer') {
          const settle = answer
          answer = undefined
          settle?.(step[1])
        } else if (step[0] === 'wait') clock.advance(step[1])
        else poller[step[0]]()
        assert.ok(open <= 1, 'two attempts at one time')
        const { tickCount, errorCount } = poller.stats()
        assert.ok(failures.length <= errorCount && errorCount <= tickCount)
      }
      poller.stop()
      answer?.()
      assert.deepEqual([poller.stats().inFlight, poller.isActive(), clock.waiting], [false, false, 0])
    }),
  )
})
