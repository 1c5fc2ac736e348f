import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterMatches, isFilter } from '../../src/bus/topic-filter.ts'

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

test('Wildcards stand for whole levels only', () => {
  const filters = ['a', '/', '+', '#', 'a/+/b', 'a/#', '', 'a+', '+a/b', 'a#', '#/a', 'a/#/b', 'a\u0000']
  assert.deepEqual(filters.filter(isFilter), ['a', '/', '+', '#', 'a/+/b', 'a/#'])
})
