import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGracePeriod } from '../../../src/fleet/store/grace-period.ts'
import {
  StoreMissingError,
  StoreRefusedError,
  StoreUnreachableError,
} from '../../../src/fleet/store/store-errors.ts'
import type { Follower } from '../../../src/fleet/store/store-stream.ts'
import { createStreamReader } from '../../../src/fleet/store/stream-reader.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { createRecordingLogger } from '../../bus/bus-fixture.ts'

/** When a stream is followed anew, by the clock; that it is then, and what comes of it, is seen with a real store elsewhere. */

const turn = (): Promise<void> => new Promise(setImmediate)
const message = { seq: 1, subject: 'news', data: Buffer.alloc(0) }
const unreachable = new StoreUnreachableError('no answer')
const missing = (isCertain: boolean): Error => new StoreMissingError('it was deleted', isCertain)

function createStage() {
  const clock = createManualClock()
  const logger = createRecordingLogger()
  const followers: Follower[] = []
  const state = { refusal: undefined as Error | undefined, isGivenUp: false, closed: 0, taken: 0 }
  const failures: string[] = []
  let isHeld: Promise<void> | undefined
  const reader = createStreamReader({
    ...{ name: 'The news', clock, logger, pace: { heartbeat: 1_000, askingAgain: 30_000 } },
    async follow(_pace, follower) {
      followers.push(follower)
      await isHeld
      if (state.refusal !== undefined) throw state.refusal
      return {
        async close() {
          state.closed += 1
        },
      }
    },
    take: () => (state.taken += 1),
    gracePeriod: createGracePeriod(clock),
    isGivenUp: () => state.isGivenUp,
    failed: ({ name }) => void failures.push(name),
  })
  return {
    ...{ reader, state, failures, clock },
    /** The last one. */
    follower: (): Follower => followers.at(-1) ?? assert.fail('nobody follows'),
    warnings: () => logger.lines.map(({ message }) => message),
    /** How often the stream has been followed when so much time is over. */
    async followedAfter(milliseconds: number): Promise<number> {
      for (let left = milliseconds; left > 0; left -= 500) {
        clock.advance(Math.min(left, 500))
        await turn()
      }
      return followers.length
    },
    /** The store answers nothing until what is returned is called. */
    hold(): () => void {
      let release = (): void => undefined
      isHeld = new Promise((resolve) => {
        release = resolve
      })
      return release
    },
  }
}

test('a stream is followed anew after two and a half heartbeats without a sign of life, or when it ends', async () => {
  const { reader, state, clock, follower, followedAfter } = createStage()
  await reader.start()
  assert.equal(await followedAfter(2_500), 1)
  follower().alive()
  assert.equal(await followedAfter(2_500), 1)
  follower().take(message, false)
  assert.deepEqual([await followedAfter(2_500), state.taken, state.closed], [1, 1, 0])
  assert.deepEqual([await followedAfter(500), state.closed], [2, 1])
  // From then on it has as much time again.
  assert.equal(await followedAfter(2_500), 2)
  follower().ended()
  assert.deepEqual([await followedAfter(500), state.closed], [3, 2])
  await reader.close()
  assert.equal(clock.waiting, 0)
  assert.deepEqual([await followedAfter(10_000), state.closed], [3, 3])
})

test('a stream that shows that it lives is looked at no more often than it could have become silent', async () => {
  const { reader, clock, follower } = createStage()
  let looks = 0
  const { schedule } = clock
  clock.schedule = (milliseconds, callback) => {
    looks += 1
    return schedule(milliseconds, callback)
  }
  await reader.start()
  for (let second = 0; second < 60; second += 1) {
    clock.advance(1_000)
    follower().alive()
  }
  assert.ok(looks <= 60 / 1.5, `${looks} looks in a minute`)
  await reader.close()
})

test('a stream is not followed twice at a time, and not when nobody could do anything with it', async () => {
  const { reader, state, followedAfter, hold } = createStage()
  await reader.start()
  const release = hold()
  assert.equal(await followedAfter(10_000), 2)
  release()
  await turn()
  state.isGivenUp = true
  assert.equal(await followedAfter(10_000), 2)
  reader.followAnew()
  assert.equal(await followedAfter(0), 2)
  await reader.close()
})

test('what is followed while the reader is closed is ended', async () => {
  const { reader, state, clock, followedAfter, hold } = createStage()
  const release = hold()
  const started = reader.start()
  const closed = reader.close()
  release()
  await Promise.all([started, closed])
  assert.equal(clock.waiting, 0)
  assert.deepEqual([await followedAfter(10_000), state.closed], [1, 1])
})

test('a reader that is closed while a stream is followed anew has ended it by then', async () => {
  const { reader, state, hold } = createStage()
  await reader.start()
  const release = hold()
  reader.followAnew()
  const closed = reader.close()
  await turn()
  release()
  await closed
  assert.equal(state.closed, 2)
})

test('what was handed out before a stream is followed anew, and comes after it, is not taken', async () => {
  const { reader, state, follower, followedAfter } = createStage()
  await reader.start()
  const before = follower()
  reader.followAnew()
  await turn()
  assert.deepEqual([await followedAfter(0), state.closed], [2, 1])
  before.take(message, false)
  before.ended()
  assert.deepEqual([await followedAfter(500), state.taken], [2, 0])
  // Nor is it a sign of life of the other one.
  await followedAfter(2_000)
  before.alive()
  before.take(message, false)
  assert.equal(await followedAfter(500), 3)
  await reader.close()
})

test('a stream of which nothing more can be taken is left, and followed again as soon as something can', async () => {
  const { reader, state, follower, followedAfter, hold } = createStage()
  await reader.start()
  state.isGivenUp = true
  reader.pause()
  follower().take(message, false)
  follower().alive()
  assert.deepEqual([await followedAfter(1_000), state.closed, state.taken], [1, 1, 0])
  state.isGivenUp = false
  assert.equal(await followedAfter(500), 2)
  follower().take(message, false)
  assert.deepEqual([await followedAfter(2_500), state.taken], [2, 1])
  // The store has not answered yet when that is the case.
  const release = hold()
  reader.followAnew()
  reader.pause()
  release()
  await turn()
  assert.deepEqual([await followedAfter(0), state.closed], [3, 3])
  assert.deepEqual([await followedAfter(500), state.closed], [4, 3])
  await reader.close()
  assert.equal(state.closed, 4)
})

test('that a stream cannot be followed is told once, and again after it could be', async () => {
  const { reader, state, follower, failures, warnings, followedAfter } = createStage()
  await reader.start()
  state.refusal = unreachable
  assert.equal(await followedAfter(5_000), 6)
  const told = ['The news cannot be followed; it is tried again']
  assert.deepEqual(warnings(), told)
  state.refusal = undefined
  assert.equal(await followedAfter(1_000), 7)
  state.refusal = unreachable
  follower().ended()
  await followedAfter(1_000)
  assert.deepEqual([warnings(), failures], [[...told, ...told], []])
  await reader.close()
})

for (const [what, refusal] of [
  ['a store of one server says that it is gone', missing(true)],
  ['it is not as it must be', new StoreRefusedError('it was emptied')],
] as const)
  test(`nobody waits for a stream when ${what}`, async () => {
    const { reader, state, failures, followedAfter } = createStage()
    await reader.start()
    state.refusal = refusal
    await followedAfter(3_000)
    assert.deepEqual(failures, [refusal.name])
    await reader.close()
  })

test('that a stream is gone is believed of one server of several after fifteen seconds in a row', async () => {
  const { reader, state, follower, failures, warnings, followedAfter } = createStage()
  await reader.start()
  follower().ended()
  state.refusal = missing(false)
  await followedAfter(15_000)
  for (const answer of [unreachable, undefined]) {
    state.refusal = answer
    await followedAfter(500)
    follower().ended()
    state.refusal = missing(false)
    // The first time that it says so is half a second later.
    await followedAfter(15_000)
  }
  assert.deepEqual([failures, warnings().length], [[], 2])
  await followedAfter(500)
  assert.deepEqual(failures, ['StoreMissingError'])
  await reader.close()
})
