import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRetainedAccount, retainedSentence } from '../../../src/schema/plugin/retained-account.ts'

/** Topics have one byte here, if nothing else is said. */
const limits = { topics: 2, bytes: 20 }

test('what is retained counts with its topic, once, and what has no room changes nothing', () => {
  const account = createRetainedAccount(limits)
  assert.deepEqual([account.take('a', 9), account.take('b', 9)], [true, true])
  assert.equal(account.take('c', 1), false, 'there are as many topics as there may be')
  assert.equal(account.take('a', 9), true, 'what is replaced makes room for the new one')
  assert.equal(account.take('a', 10), false, 'a byte too many')
  assert.deepEqual(Object.fromEntries(account.entries()), { a: 9, b: 9 })
  assert.equal(createRetainedAccount(limits).take('é', 19), false, 'a topic counts in bytes')
})

test('what is cleared, or replaced by less, makes as much room as it took', () => {
  const account = createRetainedAccount(limits, [
    ['a', 9],
    ['b', 9],
  ])
  assert.equal(account.take('c', 1), false, 'what was there before counts')
  assert.equal(account.take('a', 0), true)
  assert.deepEqual([account.take('c', 10), account.take('c', 9)], [false, true])
  assert.equal(account.take('b', 4), true)
  assert.deepEqual([account.take('c', 15), account.take('c', 14)], [false, true])
  account.delete('b')
  account.delete('never there')
  assert.deepEqual([account.topics, account.hasRoom('d', 4), account.hasRoom('d', 5)], [1, true, false])
})

test('of a part of the limits there is room for as much', () => {
  const account = createRetainedAccount(limits)
  assert.deepEqual([account.take('a', 10, 0.5), account.take('a', 9, 0.5)], [false, true])
  assert.deepEqual([account.take('a', 1, 0.5), account.take('b', 1, 0.5)], [true, false])
  assert.equal(account.take('b', 1), true)
})

test('a plugin is told how much it may retain', () => {
  assert.match(retainedSentence('a/b'), /"a\/b": a plugin may have 1000 retained topics with 8 MiB together/)
})
