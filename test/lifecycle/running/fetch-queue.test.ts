import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../../src/base/problem.ts'
import { createDeferred } from '../../../src/base/time/deferred.ts'
import { createFetchQueue, fetchesAtOnce } from '../../../src/lifecycle/running/fetch-queue.ts'
import { defaultRepositoryLimits } from '../../../src/repository/limits.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

const never = new AbortController().signal
const { requestTime } = defaultRepositoryLimits

function createStage() {
  const clock = createManualClock()
  const queue = createFetchQueue(clock)
  /** What has begun, in order. */
  const begun: string[] = []
  return {
    ...{ clock, begun },
    /** A fetch that goes on until it is told to end. */
    ask(repository: string, signal = never) {
      const answer = createDeferred<string>()
      const done = queue.run(repository, signal, () => {
        begun.push(repository)
        return answer.promise
      })
      done.catch(() => undefined)
      return { ...answer, done }
    },
    settle: () => new Promise((resolve) => setImmediate(resolve)),
  }
}

test('so many missing files are fetched at a time, and of a repository that has none under way one in any case', async () => {
  const { ask, begun, settle } = createStage()
  const silent = Array.from({ length: fetchesAtOnce + 4 }, () => ask('silent'))
  const first = ask('other')
  const second = ask('other')
  await settle()
  assert.equal(begun.filter((name) => name === 'silent').length, fetchesAtOnce)
  assert.equal(begun.filter((name) => name === 'other').length, 1)
  first.resolve('here')
  assert.equal(await first.done, 'here')
  await settle()
  assert.equal(begun.filter((name) => name === 'other').length, 2)
  assert.equal(begun.length, fetchesAtOnce + 2)
  second.resolve('here')
  silent[0]?.resolve('here')
  await settle()
  assert.equal(begun.filter((name) => name === 'silent').length, fetchesAtOnce + 1)
})

test('who waits for a repository that was silent is told so at once, and others are not', async () => {
  const { ask, begun, clock, settle } = createStage()
  const [silent] = Array.from({ length: fetchesAtOnce }, () => ask('silent'))
  const waiting = ask('silent')
  const other = ask('other')
  ask('other')
  await settle()
  clock.advance(requestTime)
  const problem = new Problem('repository_unreachable', 'It does not answer.')
  silent?.reject(problem)
  await assert.rejects(waiting.done, problem)
  other.resolve('here')
  await settle()
  assert.deepEqual(begun.slice(fetchesAtOnce), ['other', 'other'])
})

const failures = [
  ['which says at once that it cannot', 0, new Problem('repository_unreachable', 'It refuses.')],
  ['of another plugin', requestTime, new Problem('integrity_mismatch', 'It is another one.')],
  ['of a load that was ended', requestTime, new Error('interrupted by configure (http)')],
] as const

for (const [name, time, failure] of failures) {
  test(`a failure ${name} is nothing to those that wait for the same repository`, async () => {
    const { ask, begun, clock, settle } = createStage()
    const [one] = Array.from({ length: fetchesAtOnce }, () => ask('silent'))
    const waiting = ask('silent')
    await settle()
    clock.advance(time)
    one?.reject(failure)
    await settle()
    assert.equal(begun.length, fetchesAtOnce + 1)
    waiting.resolve('here')
    assert.equal(await waiting.done, 'here')
  })
}

test('a load that is ended while it waits for its turn does not wait for it, and takes no place', async () => {
  const { ask, begun, settle } = createStage()
  const [first] = Array.from({ length: fetchesAtOnce }, () => ask('silent'))
  const controller = new AbortController()
  const ended = ask('silent', controller.signal)
  const next = ask('silent')
  await settle()
  controller.abort(new Error('interrupted'))
  await assert.rejects(ended.done, /interrupted/)
  first?.resolve('here')
  await settle()
  assert.equal(begun.length, fetchesAtOnce + 1)
  next.resolve('here')
  assert.equal(await next.done, 'here')
})
