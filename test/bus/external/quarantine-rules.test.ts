import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createQuarantine,
  publisherLimit,
  publisherTime,
  quarantineTime,
  subscriptionTo,
  suspicionTime,
} from '../../../src/bus/external/quarantine.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** When what is kept back, and for how long: with a clock that stands still. */

function setUp() {
  const clock = createManualClock()
  const held: [string, number][] = []
  let released = 0
  const quarantine = createQuarantine({
    clock,
    ownerOf: (topic) => (topic.startsWith('of-plugin/') ? '@a/plugin' : undefined),
    held: (what, pause) => held.push([Object.values(what).join(' '), pause / 1_000]),
    released: () => (released += 1),
  })
  const stage = {
    ...{ clock, quarantine, held },
    released: () => released,
    admission: (topic: string, bytes = 1, publisher?: string) =>
      quarantine.admission({ topic, publisher }, bytes),
    /** A connection that ends while these are under way. */
    breakWith(...topics: string[]) {
      for (const topic of topics) quarantine.sent({ topic }, 1)
      return quarantine.ended(true)
    },
    answer(topic: string, bytes = 1) {
      quarantine.sent({ topic }, bytes)
      quarantine.answered([{ topic }])
    },
    /** Two connections have ended already. */
    probing() {
      stage.breakWith()
      stage.breakWith()
      return stage
    },
  }
  return stage
}

test('Everything is free until a second connection ends within an hour, and an hour after the last one', () => {
  const { clock, quarantine, admission, breakWith, answer } = setUp()
  assert.equal(quarantine.isIdle, true)
  breakWith()
  clock.advance(suspicionTime)
  breakWith()
  assert.deepEqual([quarantine.isIdle, admission('a')], [true, 'free'])
  clock.advance(suspicionTime - 1)
  breakWith()
  assert.deepEqual([quarantine.isIdle, admission('a')], [false, 'group'])
  answer('a')
  assert.deepEqual([admission('a'), admission('b')], ['free', 'group'])
  clock.advance(suspicionTime)
  answer('b')
  assert.deepEqual([quarantine.isIdle, admission('c')], [true, 'free'])
})

test('An end of its own counts for nothing, and what was under way is not answered by a later connection', () => {
  const { quarantine, admission } = setUp().probing()
  quarantine.sent({ topic: 'a' }, 1)
  assert.equal(quarantine.ended(false), false)
  quarantine.answered([{ topic: 'a' }])
  assert.equal(admission('a'), 'group')
})

test('Of several each goes alone, and with the second end it is kept back, but for what was answered between', () => {
  const { held, admission, breakWith, answer } = setUp().probing()
  assert.equal(breakWith('a', 'b'), true)
  assert.deepEqual([admission('a'), admission('b'), admission('c')], ['alone', 'alone', 'group'])
  breakWith('a')
  answer('a')
  assert.equal(admission('a'), 'free')
  // Nothing new was under way: what the broker has taken before may be the reason.
  assert.equal(breakWith(), false)
  assert.equal(admission('a'), 'group')
  breakWith('a')
  assert.deepEqual([held, admission('a')], [[], 'alone'])
  breakWith('a')
  assert.deepEqual([held, admission('a')], [[['a 1', 60]], 'held'])
  assert.equal(admission('b'), 'alone')
})

test('What is kept back again is so for twice as long, up to six hours, be it alone or not', () => {
  const { clock, held, released, admission, breakWith } = setUp().probing()
  breakWith('a')
  breakWith('a')
  for (let time = 1; time <= 11; time += 1) {
    clock.advance((held.at(-1)?.[1] ?? 0) * 1_000)
    assert.deepEqual([released(), admission('a')], [time, 'alone'])
    breakWith('a', `other/${time}`)
  }
  assert.deepEqual(
    held.map(([, seconds]) => seconds / 60),
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360, 360],
  )
  assert.equal(quarantineTime.longest, 360 * 60_000)
})

test('Messages that are smaller than the one that was under way are not suspected, and their answer clears no larger one', () => {
  const { quarantine, held, admission, breakWith, answer } = setUp().probing()
  answer('a', 10)
  quarantine.sent({ topic: 'a' }, 500)
  breakWith()
  assert.deepEqual([admission('a', 10), admission('a', 499), admission('a', 500)], ['free', 'group', 'alone'])
  answer('a', 400)
  quarantine.sent({ topic: 'a' }, 450)
  breakWith()
  assert.deepEqual(held, [['a 450', 60]])
  assert.deepEqual([admission('a', 400), admission('a', 450)], ['free', 'held'])
})

test('Of two messages on one topic the smaller one is suspected, and the larger one is what the broker has taken', () => {
  const { quarantine, admission } = setUp().probing()
  for (const bytes of [30, 20, 25]) quarantine.sent({ topic: 'a' }, bytes)
  quarantine.ended(true)
  assert.deepEqual([admission('a', 19), admission('a', 20)], ['group', 'alone'])
  for (const bytes of [30, 20, 25]) quarantine.sent({ topic: 'a' }, bytes)
  quarantine.answered([{ topic: 'a' }, { topic: 'a' }])
  assert.deepEqual([admission('a', 30), admission('a', 31)], ['free', 'group'])
})

test('A filter is told by its name, and is another thing than its topic', () => {
  const { held, admission, breakWith } = setUp().probing()
  for (let time = 0; time < 2; time += 1) breakWith(subscriptionTo('a/#'))
  assert.deepEqual(held, [['a/#', 60]])
  assert.deepEqual([admission(subscriptionTo('a/#')), admission('a/#')], ['held', 'group'])
})

test('A plugin with which connections end over several topics is kept back itself for an hour, but for what the broker takes', () => {
  const { clock, quarantine, held, released, admission, breakWith, answer } = setUp().probing()
  answer('of-plugin/good')
  // With those that are merely suspected it is not kept back, nor with those of the host: what else is new of it goes alone.
  breakWith(...Array.from({ length: publisherLimit }, (_, number) => `of-plugin/group-${number}`))
  for (let number = 0; number < publisherLimit; number += 1) breakWith(`of-host/${number}`)
  for (let number = 1; number < publisherLimit; number += 1) breakWith(`of-plugin/${number}`)
  assert.deepEqual([held, admission('of-plugin/new')], [[], 'alone'])
  quarantine.sent({ topic: 'anywhere', publisher: '@a/plugin' }, 1)
  breakWith()
  assert.deepEqual(held, [['@a/plugin', publisherTime / 1_000]])
  assert.deepEqual(
    [
      ...[admission('of-plugin/new'), admission('of-plugin/good'), admission('x', 1, '@a/plugin')],
      ...[admission('x'), admission('x', 1, '@a/other')],
    ],
    ['held', 'free', 'held', 'group', 'group'],
  )
  clock.advance(publisherTime)
  assert.deepEqual([released(), admission('of-plugin/1'), quarantine.isIdle], [1, 'group', false])
})

test('What was under suspicion for nothing is forgotten, at the latest with the end, and with it every wait', () => {
  const { clock, quarantine, admission, breakWith, answer } = setUp().probing()
  breakWith('never-again', 'a')
  breakWith('bad')
  breakWith('bad')
  clock.advance(suspicionTime)
  answer('a')
  assert.deepEqual([admission('never-again'), admission('bad')], ['free', 'alone'])
  breakWith('bad')
  for (let number = 0; number < publisherLimit; number += 1) breakWith(`of-plugin/${number}`)
  assert.equal(clock.waiting, 2)
  quarantine.close()
  assert.equal(clock.waiting, 0)
})

test('No more than a thousand are suspected, and ten thousand known to be taken: the oldest are as new, or all', () => {
  const { quarantine, admission, breakWith, answer } = setUp().probing()
  breakWith(...Array.from({ length: 1_001 }, (_, number) => `bad/${number}`))
  assert.deepEqual([admission('bad/0'), admission('bad/1')], ['group', 'alone'])
  for (let number = 0; number < 10_000; number += 1) answer(`good/${number}`)
  assert.equal(admission('good/0'), 'free')
  answer('good/10000')
  assert.equal(admission('good/0'), 'group')
  quarantine.close()
})

test('A smaller message on the topic of what is kept back is not kept back with it before it has been alone', () => {
  const { clock, quarantine, held, admission, breakWith, answer } = setUp().probing()
  for (let time = 0; time < 2; time += 1) {
    quarantine.sent({ topic: 'a' }, 500)
    breakWith()
  }
  quarantine.sent({ topic: 'a' }, 400)
  breakWith('other')
  assert.deepEqual([held, admission('a', 400), admission('a', 500)], [[['a 500', 60]], 'alone', 'held'])
  answer('a', 400)
  assert.deepEqual([admission('a', 400), admission('a', 499), admission('a', 500)], ['free', 'group', 'held'])
  // It is kept back by itself, and all of it comes free at one time.
  quarantine.sent({ topic: 'a' }, 450)
  breakWith()
  assert.deepEqual([held.at(-1), clock.waiting], [['a 450', 120], 1])
  quarantine.close()
  assert.equal(clock.waiting, 0)
})

test('A small message that was under way with a larger one over which the connection ends is not kept back with it', () => {
  const { quarantine, held, admission, breakWith } = setUp().probing()
  for (const bytes of [10, 2_000]) quarantine.sent({ topic: 'a' }, bytes)
  breakWith()
  quarantine.sent({ topic: 'a' }, 2_000)
  breakWith()
  assert.deepEqual([held, admission('a', 10), admission('a', 2_000)], [[['a 2000', 60]], 'alone', 'held'])
})
