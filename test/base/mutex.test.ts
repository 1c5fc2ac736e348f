import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKeyedMutex } from '../../src/base/mutex.ts'
import { createDeferred } from '../../src/base/time/deferred.ts'

test('a task that has released its turn goes on when those that came meanwhile have had theirs', async () => {
  const mutex = createKeyedMutex()
  const work = createDeferred<string>()
  const done: string[] = []
  const first = mutex.run('key', async () => {
    done.push('first begins')
    done.push(await mutex.whileReleased('key', () => work.promise))
    await Promise.resolve()
    done.push('first ends')
  })
  await mutex.run('key', async () => void done.push('second'))
  const busy = createDeferred<undefined>()
  const third = mutex.run('key', async () => {
    work.resolve('worked')
    await busy.promise
    done.push('third')
  })
  await work.promise
  const fourth = mutex.run('key', async () => void done.push('fourth'))
  busy.resolve(undefined)
  await Promise.all([first, third, fourth])
  const order = ['first begins', 'second', 'third', 'worked', 'first ends', 'fourth']
  assert.deepEqual(done.toSorted(), order.toSorted())
  assert.ok(done.indexOf('worked') > done.indexOf('third'), 'nobody runs beside another')
  assert.equal(done.indexOf('first ends'), done.indexOf('worked') + 1, 'nor between what it does then')
})

test('a task whose work fails while it has released its turn has the turn again when it is told', async () => {
  const mutex = createKeyedMutex()
  const done: string[] = []
  const first = mutex.run('key', async () => {
    const failing = mutex.whileReleased('key', () => Promise.reject(new Error('no')))
    await assert.rejects(failing, /no/)
    done.push('told')
  })
  const second = mutex.run('key', async () => {
    // Turns of the event loop in which the first would have been told.
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
    done.push('second')
  })
  await Promise.all([first, second])
  assert.deepEqual(done, ['second', 'told'])
})

test('a mutex is idle only when a task that has released its turn has ended', async () => {
  const mutex = createKeyedMutex()
  const work = createDeferred<undefined>()
  let ended = false
  void mutex.run('key', async () => {
    await mutex.whileReleased('key', () => work.promise)
    ended = true
  })
  const idle = mutex.idle().then(() => ended)
  await mutex.run('key', async () => undefined)
  work.resolve(undefined)
  assert.equal(await idle, true)
})
