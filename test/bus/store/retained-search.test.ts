import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { filterMatches } from '../../../src/base/topic-filter.ts'
import { searchTopics } from '../../../src/bus/store/retained-search.ts'

const level = fc.constantFrom('a', 'b', '$x')
const topic = fc.array(level, { minLength: 1, maxLength: 3 }).map((levels) => levels.join('/'))
const filter = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([levels, open]) => [...levels, ...(open ? ['#'] : [])].join('/'))

test('Each topic that a filter matches is found once, with few filters and with many', () => {
  fc.assert(
    fc.property(
      fc.array(topic, { maxLength: 20, size: 'max' }),
      fc.array(filter, { maxLength: 20, size: 'max' }),
      (topics, filters) => {
        const kept = new Map(topics.map((one) => [one, one]))
        const found = [...searchTopics(filters, kept)]
        const expected = [...kept.keys()].filter((one) => filters.some((each) => filterMatches(each, one)))
        assert.deepEqual(found.sort(), expected.sort())
      },
    ),
  )
})

test('A topic that goes and comes again while it is searched for is not found again', () => {
  const topics = new Map(['a/1', 'a/2', 'a/3'].map((one) => [one, one]))
  const found: (string | undefined)[] = []
  for (const one of searchTopics(['a/+'], topics)) {
    found.push(one)
    assert.ok(found.length <= 3, found.join(' '))
    topics.delete('a/1')
    topics.set('a/1', 'anew')
  }
  assert.deepEqual(found, ['a/1', 'a/2', 'a/3'])
})

const numbered = (count: number, text: (number: number) => string): string[] =>
  Array.from({ length: count }, (_, number) => text(number))

test('Where much is looked at there are pauses: with many topics, with many filters, and none with few of both', () => {
  const pauses = (filters: string[], topics: string[]): number =>
    [...searchTopics(filters, new Map(topics.map((one) => [one, one])))].filter((one) => one === undefined)
      .length
  const few = numbered(10, (number) => `a/${number}`)
  const many = numbered(10_000, (number) => `a/${number}`)
  assert.equal(pauses(['b/#'], few), 0)
  assert.equal(pauses(['b/#'], many), 10)
  assert.equal(pauses(many, []), 0)
  assert.ok(pauses(many, many) >= 5)
  const wide = numbered(10_000, (number) => `+/${number}/b`)
  assert.ok(pauses(wide, few) >= 20)
})
