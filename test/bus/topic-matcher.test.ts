import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { filterMatches } from '../../src/base/topic-filter.ts'
import { createMessageEmitter } from '../../src/bus/embedded/message-emitter.ts'
import { createTopicMatcher } from '../../src/bus/topic-matcher.ts'

const level = fc.constantFrom('a', 'b', '')
const topic = fc
  .array(level, { minLength: 1, maxLength: 4 })
  .map((levels) => levels.join('/'))
  .filter((text) => text !== '')
const filter = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { maxLength: 4 }), fc.boolean())
  .map(([levels, open]) => [...levels, ...(open ? ['#'] : [])].join('/'))
  .filter((text) => text !== '')
const step = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), filter }),
  fc.record({ kind: fc.constant('remove' as const), which: fc.nat() }),
  fc.record({ kind: fc.constant('match' as const), topic }),
)

test('a topic finds the values whose filters match it, whatever was added, removed and asked before', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const matcher = createTopicMatcher<number>()
      const held: [filter: string, value: number][] = []
      let last = 0
      for (const each of steps) {
        if (each.kind === 'add') {
          last += 1
          held.push([each.filter, last])
          matcher.add(each.filter, last)
        } else if (each.kind === 'remove') {
          const [gone] = held.splice(each.which % (held.length + 1), 1)
          if (gone !== undefined) matcher.remove(...gone)
        } else {
          const expected = held.filter(([one]) => filterMatches(one, each.topic)).map(([, value]) => value)
          assert.deepEqual(
            [...matcher.match(each.topic)].sort((a, b) => a - b),
            expected,
          )
        }
      }
    }),
  )
})

test('a value that was added twice is found twice, and once when one of them is gone', () => {
  const matcher = createTopicMatcher<string>()
  matcher.add('a/+', 'x')
  matcher.add('a/+', 'x')
  assert.deepEqual(matcher.match('a/b'), ['x', 'x'])
  matcher.remove('a/+', 'x')
  matcher.remove('a/+', 'never added')
  matcher.remove('b/+', 'x')
  assert.deepEqual(matcher.match('a/b'), ['x'])
})

test('more topics than are remembered, and very long ones, are answered as before', () => {
  const matcher = createTopicMatcher<string>()
  matcher.add('+/x', 'one')
  for (let round = 0; round < 2; round += 1)
    for (let number = 0; number < 25_000; number += 1)
      assert.deepEqual(matcher.match(`${number}/x`), ['one'], String(number))
  matcher.add('#', 'all')
  assert.deepEqual([...matcher.match('7/x')].sort(), ['all', 'one'])
  const long = `${'a'.repeat(60_000)}/x`
  for (const expected of [
    ['all', 'one'],
    ['all', 'one'],
  ])
    assert.deepEqual([...matcher.match(long)].sort(), expected)
})

test('the effort of a topic is what it matches, and the levels of filters that are looked at for it, once', () => {
  const matcher = createTopicMatcher<number>()
  for (const value of [1, 2, 3]) matcher.add('a/#', value)
  matcher.match('a/b')
  assert.equal(matcher.cost('a/b'), 3)
  const levels = Array.from({ length: 30 }, (_, level) => level)
  for (const plus of levels)
    matcher.add([...levels.map((level) => (level === plus ? '+' : 'a')), 'other'].join('/'), plus)
  for (const last of ['b', 'b'.repeat(1_000)]) {
    const topic = [...levels.map(() => 'a'), last].join('/')
    assert.ok(matcher.cost(topic) > 20, `${matcher.cost(topic)}`)
    assert.equal(matcher.cost(topic), 3)
  }
})

test('a message is done when each listener has passed it on, and at once when there is none', () => {
  const emitter = createMessageEmitter<{ topic: string }>()
  const waiting: (() => void)[] = []
  let done = 0
  const listener = (_message: object, passedOn: () => void): void => void waiting.push(passedOn)
  const emit = (): void => emitter.emit({ topic: 'a' }, () => (done += 1))
  emit()
  assert.equal(done, 1)
  emitter.on('a', listener)
  emitter.on('#', listener)
  emit()
  assert.deepEqual([done, waiting.length], [1, 2])
  waiting[0]?.()
  assert.equal(done, 1)
  waiting[1]?.()
  assert.equal(done, 2)
})

test('who leaves while a message is being passed on keeps nobody else from it, and hears of no later one', () => {
  const emitter = createMessageEmitter<{ topic: string }>()
  const heard: string[] = []
  const leaving = (_message: object, done: () => void): void => {
    heard.push('leaving')
    emitter.removeListener('a', leaving)
    done()
  }
  emitter.on('a', leaving)
  emitter.on('a', (_message, done) => {
    heard.push('staying')
    done()
  })
  for (let message = 0; message < 2; message += 1) emitter.emit({ topic: 'a' })
  assert.deepEqual(heard, ['leaving', 'staying', 'staying'])
})
