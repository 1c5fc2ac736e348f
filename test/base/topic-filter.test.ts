import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  filterCovers,
  filterMatches,
  isFilter,
  isTopic,
  reachesBelow,
  topicLevelsLimit,
} from '../../src/base/topic-filter.ts'

const matching: [filter: string, topic: string, matches: boolean][] = [
  ['a/b', 'a/b', true],
  ['a/b', 'a/b/c', false],
  ['a/b', 'a', false],
  ['a/+', 'a/b', true],
  ['a/+', 'a/', true],
  ['a/+', 'a', false],
  ['a/+', 'a/b/c', false],
  ['+/+', '/b', true],
  ['+', '/b', false],
  ['#', 'a/b/c', true],
  ['a/#', 'a', true],
  ['a/#', 'a/b/c', true],
  ['a/#', 'ab', false],
  ['a/+/#', 'a', false],
  ['#', '$SYS/x', false],
  ['+/x', '$SYS/x', false],
  ['$SYS/#', '$SYS/x', true],
]

test('A filter matches the topics that MQTT says it matches', () => {
  assert.deepEqual(
    matching.map(([filter, topic]) => [filter, topic, filterMatches(filter, topic)]),
    matching,
  )
})

const level = fc.constantFrom('', 'a', 'b', 'ab', '+', '#', '$a')
const levels = fc.array(level, { minLength: 1, maxLength: 5 }).map((all) => all.join('/'))

/** As the standard puts it, level by level. */
function matchesByLevels(filter: string, topic: string): boolean {
  if (topic.startsWith('$') && /^[+#]/.test(filter)) return false
  const wanted = filter.split('/')
  const given = topic.split('/')
  const open = wanted.indexOf('#')
  const compared = open === -1 ? wanted : wanted.slice(0, open)
  if (open === -1 ? wanted.length !== given.length : given.length < open) return false
  return compared.every((one, index) => one === '+' || one === given[index])
}

test('A filter matches a topic if it does so level by level', () => {
  fc.assert(
    fc.property(levels, levels, (filter, topic) =>
      assert.equal(filterMatches(filter, topic), matchesByLevels(filter, topic), `${filter} ${topic}`),
    ),
    { numRuns: 2_000 },
  )
})

test('Wildcards stand for whole levels only', () => {
  const filters = ['a', '/', '+', '#', 'a/+/b', 'a/#', '', 'a+', '+a/b', 'a#', '#/a', 'a/#/b', 'a\u0000']
  assert.deepEqual(filters.filter(isFilter), ['a', '/', '+', '#', 'a/+/b', 'a/#'])
})

test('A topic has at most as many bytes as its length can say, and as many levels as are matched', () => {
  const longest = 'é'.repeat(32_767)
  assert.deepEqual([`${longest}x`, `${longest}é`, 'x'.repeat(65_536)].map(isTopic), [true, false, false])
  const deepest = Array(topicLevelsLimit).fill('a').join('/')
  assert.deepEqual([deepest, `${deepest}/`].map(isTopic), [true, false])
})

const reaching: [filter: string, reaches: boolean][] = [
  ['a/b/c', true],
  ['a/b/+', true],
  ['a/b/#', true],
  ['a/#', true],
  ['#', true],
  ['+/b/c', true],
  ['+/+/+', true],
  ['a/b', false],
  ['+/+', false],
  ['a/c/#', false],
  ['ab/b/c', false],
]

test('A filter reaches below some levels when it matches a topic there', () => {
  assert.deepEqual(
    reaching.map(([filter]) => [filter, reachesBelow('a/b', filter)]),
    reaching,
  )
})

const covering: [pattern: string, filter: string, covers: boolean][] = [
  ['a/b', 'a/b', true],
  ['a/b', 'a/+', false],
  ['a/b', 'a/b/#', false],
  ['a/+', 'a/b', true],
  ['a/+', 'a/+', true],
  ['a/+', 'a/#', false],
  ['a/+', 'a', false],
  ['a/#', 'a', true],
  ['a/#', 'a/#', true],
  ['a/#', 'a/+/c', true],
  ['a/#', '+/b', false],
  ['a/#', '#', false],
  ['#', '#', true],
  ['#', '+/#', true],
  ['+/#', '#', true],
  ['+/+/#', '#', false],
  ['+', '#', false],
  ['#', '$SYS/#', false],
  ['+/#', '$share/group/a', false],
  ['$SYS/#', '$SYS/+', true],
  ['$SYS/#', '#', false],
]

test('A filter covers another when it matches all that the other matches', () => {
  assert.deepEqual(
    covering.map(([pattern, filter]) => [pattern, filter, filterCovers(pattern, filter)]),
    covering,
  )
})

const words = ['', 'a', '$x']
const topics = [1, 2, 3, 4].flatMap((length) => {
  let all: string[][] = [[]]
  for (let level = 0; level < length; level += 1) {
    all = all.flatMap((levels) => [...words, 'z'].map((word) => [...levels, word]))
  }
  return all.map((levels) => levels.join('/'))
})
const anyFilter = fc
  .tuple(fc.array(fc.constantFrom(...words, '+'), { minLength: 0, maxLength: 3 }), fc.boolean())
  .map(([levels, open]) => [...levels, ...(open ? ['#'] : [])].join('/'))
  .filter(isFilter)

test('Covering is the same as matching every topic that the other matches', () => {
  fc.assert(
    fc.property(anyFilter, anyFilter, (pattern, filter) => {
      const beyond = topics.filter((topic) => filterMatches(filter, topic) && !filterMatches(pattern, topic))
      assert.equal(filterCovers(pattern, filter), beyond.length === 0, `${pattern} ${filter} ${beyond[0]}`)
    }),
    { numRuns: 2_000 },
  )
})
