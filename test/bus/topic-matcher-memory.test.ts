import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTopicMatcher } from '../../src/bus/topic-matcher.ts'
import { collectGarbage } from '../helpers/collect-garbage.ts'

/** Bytes: a fraction of what 200,000 topics or filters take. */
const allowed = 6 * 1024 * 1024

function heap(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

test('topics that are asked for once, and filters that come and go, leave no memory taken', () => {
  const matcher = createTopicMatcher<string>()
  matcher.add('+/last', 'kept')
  // Compiled, and the most that is remembered.
  for (let number = 0; number < 25_000; number += 1) matcher.match(`warm-up-${number}/last`)
  const first = heap()
  for (let number = 0; number < 200_000; number += 1) matcher.match(`client-${number}/last`)
  assert.ok(heap() - first < allowed, `topics: ${heap() - first} bytes`)
  for (let number = 0; number < 200_000; number += 1) {
    matcher.add(`client-${number}/inbox/#`, 'gone')
    matcher.remove(`client-${number}/inbox/#`, 'gone')
  }
  assert.ok(heap() - first < allowed, `filters: ${heap() - first} bytes`)
  assert.deepEqual(matcher.match('client-1/last'), ['kept'])
})

test('long filters that have hardly a level in common take little, so that a topic is not compared with each of their levels by itself', () => {
  const matcher = createTopicMatcher<string>()
  const filter = (number: number): string =>
    `${[...number.toString(2).padStart(11, '0')].join('/').replaceAll('1', '+')}${'/+'.repeat(80)}/last`
  matcher.add(filter(2_000), 'warm-up')
  const first = heap()
  for (let number = 0; number < 2_000; number += 1) matcher.add(filter(number), String(number))
  assert.ok(heap() - first < allowed, `${heap() - first} bytes`)
  const topic = (end: string): string => `${'0/'.repeat(11)}${'x/'.repeat(80)}${end}`
  assert.equal(matcher.match(topic('last')).length, 2_001)
  assert.deepEqual(matcher.match(topic('other')), [])
  for (let number = 0; number < 2_000; number += 1) matcher.remove(filter(number), String(number))
  assert.deepEqual(matcher.match(topic('last')), ['warm-up'])
})
