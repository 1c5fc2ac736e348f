import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoize } from '../../src/base/memoize.ts'

test('an answer is found out once for a text, as long as there are few and they are short', () => {
  const asked: string[] = []
  const lengthOf = memoize((text) => {
    asked.push(text)
    return text === '' ? undefined : text.length
  }, 3)
  assert.deepEqual(
    ['a', '', 'a', 'bb', '', 'a'].map((text) => lengthOf(text)),
    [1, undefined, 1, 2, undefined, 1],
  )
  assert.deepEqual(asked, ['a', '', 'bb'])
  assert.deepEqual(
    ['ccc', 'a', 'ccc', 'a'].map((text) => lengthOf(text)),
    [3, 1, 3, 1],
  )
  assert.deepEqual(asked.slice(3), ['ccc', 'a'])
  const long = 'x'.repeat(10_000)
  assert.deepEqual([lengthOf(long), lengthOf(long), lengthOf('a')], [10_000, 10_000, 1])
  assert.deepEqual(asked.slice(5), [long, long])
})

test('what is thrown is not remembered', () => {
  let broken = true
  const answer = memoize((text) => {
    if (broken) throw new Error(text)
    return text
  })
  assert.throws(() => answer('a'), /a/)
  broken = false
  assert.equal(answer('a'), 'a')
})
