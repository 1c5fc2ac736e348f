import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BackpressureSettings, createBackpressure } from '../../../src/sandbox/flow/backpressure.ts'
import { defaultLimits, type SandboxLimits } from '../../../src/sandbox/limits.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

interface Stage extends Partial<Pick<BackpressureSettings, 'congested' | 'deliveries'>> {
  limits?: Partial<SandboxLimits>
}

/** One plugin's, with a clock that stands still until it is told to go on, and what it has said and given. */
function createStage({ limits, congested = () => undefined, deliveries = () => 0 }: Stage = {}) {
  const clock = createManualClock()
  const told: string[] = []
  const warnings: string[] = []
  const done: [what: string, at: number][] = []
  const backpressure = createBackpressure({
    ...{ clock, congested, deliveries },
    limits: { ...defaultLimits, ...limits },
    warn: (message) => void warnings.push(message),
    limitReached: (limit) => void told.push(limit),
    giveCredit: (credits) => void done.push([`credits ${credits}`, clock.monotonic()]),
  })
  return {
    ...{ clock, told, warnings, done, backpressure },
    take: (operations: number, bytes = 0, credits = 1) =>
      backpressure.batchTaken({ operations, bytes, credits }),
    answer: (name: string) => backpressure.answer(0, () => void done.push([name, clock.monotonic()])),
    background: (name: string) => backpressure.background(0, () => void done.push([name, clock.monotonic()])),
  }
}

test('who has no limits and no reader that is behind gets credit and answers at once', () => {
  const { take, answer, background, done, told } = createStage()
  take(1e6, 1e9, 8)
  answer('answer')
  background('call')
  assert.deepEqual(done, [
    ['credits 8', 0],
    ['answer', 0],
    ['call', 0],
  ])
  assert.deepEqual(told, [])
})

test('while a reader is behind, who has sent more than 64 KiB meanwhile waits until that one has caught up', async () => {
  let catchUp = (): void => undefined
  let behind: Promise<void> | undefined = new Promise((resolve) => (catchUp = resolve))
  const { take, done, clock } = createStage({ congested: () => behind })
  // With what each of eight operations takes beside its content.
  take(8, 65_536 - 8 * 64)
  assert.deepEqual(done, [['credits 1', 0]])
  take(0, 1, 2)
  clock.advance(400)
  await settled()
  assert.equal(done.length, 1)
  catchUp()
  await settled()
  assert.deepEqual(done, [
    ['credits 1', 0],
    ['credits 2', 400],
  ])
  assert.equal(clock.waiting, 0)
  // Once nobody is behind it is counted anew.
  behind = undefined
  take(0, 1, 3)
  behind = new Promise(() => undefined)
  take(0, 65_536, 4)
  assert.deepEqual(done.slice(2), [
    ['credits 3', 400],
    ['credits 4', 400],
  ])
})

test('nobody waits for a reader longer than a second, also for one that is gone', async () => {
  const { take, done, clock } = createStage({ congested: () => new Promise(() => undefined) })
  take(0, 65_537)
  clock.advance(999)
  await settled()
  assert.deepEqual(done, [])
  clock.advance(1)
  await settled()
  assert.deepEqual(done, [['credits 1', 1_000]])
  const gone = createStage({ congested: () => Promise.reject(new Error('gone')) })
  gone.take(0, 65_537)
  await settled()
  assert.deepEqual(gone.done, [['credits 1', 0]])
})

const tenASecond = { operationsPerSecond: 10, operationBurst: 5 }

test('credit comes when the limits allow, what followed from a batch counted with it, and a second apart at most', () => {
  let followed = 0
  const { take, done, clock } = createStage({ limits: tenASecond, deliveries: () => followed })
  take(5)
  take(2)
  followed = 2
  take(1)
  clock.advance(199)
  assert.deepEqual(done, [['credits 1', 0]])
  clock.advance(301)
  assert.deepEqual(done, [
    ['credits 1', 0],
    ['credits 1', 200],
    ['credits 1', 500],
  ])
  // Far more than it may in a second, in two batches.
  followed = 0
  take(1_000)
  take(1_000)
  clock.advance(10_000)
  assert.deepEqual(done.slice(3), [
    ['credits 1', 1_500],
    ['credits 1', 2_500],
  ])
})

test('an answer waits for the limits, a second at most; a call that nobody waits for has a budget of its own', () => {
  const { take, answer, background, done, clock } = createStage({ limits: tenASecond })
  take(5)
  answer('first')
  for (let count = 0; count < 6; count += 1) background(`call ${count}`)
  const atOnce = ['credits 1', 'call 0', 'call 1', 'call 2', 'call 3', 'call 4']
  assert.deepEqual(
    done,
    atOnce.map((what) => [what, 0]),
  )
  clock.advance(100)
  assert.deepEqual(done.slice(atOnce.length), [
    ['first', 100],
    ['call 5', 100],
  ])
  for (let count = 0; count < 20; count += 1) {
    answer('last')
    background('last call')
  }
  clock.advance(1_000)
  assert.equal(done.length, atOnce.length + 2 + 40)
})

test('the plugin is told once a minute that it is slowed down, with the limits that say so', () => {
  const { take, told, warnings, clock } = createStage({
    limits: { ...tenASecond, bytesPerSecond: 1_000, byteBurst: 0 },
  })
  take(5)
  assert.deepEqual([told, warnings], [[], []])
  take(1)
  take(1)
  assert.deepEqual(told, ['operationsPerSecond', 'operationBurst'])
  assert.deepEqual(warnings, [
    'the plugin is slowed down: it asks more of the host than its limit operationsPerSecond allows (10 a second)',
  ])
  clock.advance(59_999)
  take(1, 500)
  assert.equal(warnings.length, 1)
  clock.advance(1)
  take(1, 500)
  assert.deepEqual(told.slice(2), ['bytesPerSecond'])
  assert.match(warnings[1] ?? '', /its limit bytesPerSecond allows \(1000 a second\)/)
})

test('at its end a plugin waits for nothing, and once it is over nothing is given', async () => {
  const { take, answer, background, done, told, clock, backpressure } = createStage({
    limits: tenASecond,
    congested: () => new Promise(() => undefined),
  })
  backpressure.stopThrottling()
  take(100, 1e6)
  answer('answer')
  for (let count = 0; count < 20; count += 1) background('call')
  assert.deepEqual([done.length, told], [22, []])
  const over = createStage({ limits: tenASecond })
  over.take(10)
  over.backpressure.close()
  over.answer('answer')
  assert.equal(over.clock.waiting, 0)
  clock.advance(10_000)
  over.clock.advance(10_000)
  await settled()
  assert.deepEqual(over.done, [])
})
