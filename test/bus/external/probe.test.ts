import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProbe } from '../../../src/bus/external/probe.ts'
import { createQuarantine } from '../../../src/bus/external/quarantine.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** In which groups messages go over a connection, where something is under suspicion. */

function setUp() {
  const quarantine = createQuarantine({
    ...{ clock: createManualClock(), ownerOf: () => undefined },
    ...{ held: () => undefined, released: () => undefined },
  })
  const questions: (() => void)[] = []
  let goneOn = 0
  const probe = createProbe(
    quarantine,
    (done) => questions.push(done),
    () => (goneOn += 1),
  )
  return {
    ...{ quarantine, probe, questions },
    goneOn: () => goneOn,
    suspect(...topics: string[]) {
      quarantine.ended(true)
      quarantine.ended(true)
      for (const topic of topics) quarantine.sent({ topic }, 1)
      quarantine.ended(true)
    },
    /** Whether it goes now, and how. */
    send(topic: string) {
      const admission = probe.admission({ topic }, 1)
      if (admission !== undefined && admission !== 'held') probe.sent({ topic }, 1, admission)
      return admission
    },
  }
}

test('Where nothing is under suspicion everything goes, and nobody is asked', () => {
  const { probe, questions, send } = setUp()
  assert.deepEqual([send('a'), send('a'), send('b')], ['free', 'free', 'free'])
  probe.ask()
  assert.equal(questions.length, 0)
})

test('What is new goes in groups of 64, each answered before the next; what the broker has taken waits for none', () => {
  const { probe, questions, goneOn, suspect, send } = setUp()
  suspect()
  for (let number = 0; number < 64; number += 1) assert.equal(send(`a/${number}`), 'group')
  assert.equal(send('b'), undefined)
  probe.ask()
  probe.ask()
  assert.deepEqual([questions.length, goneOn()], [1, 0])
  questions[0]?.()
  assert.deepEqual([goneOn(), send('a/0'), send('b')], [1, 'free', 'group'])
  probe.ask()
  // It would not be covered by the answer.
  assert.deepEqual([questions.length, send('c'), send('a/63')], [2, undefined, 'free'])
})

test('What is suspected goes when nothing else is under way, and nothing goes until it is answered', () => {
  const { probe, questions, suspect, send } = setUp()
  suspect('bad', 'good')
  assert.deepEqual([send('new'), send('bad')], ['group', undefined])
  probe.ask()
  questions[0]?.()
  assert.deepEqual(
    [send('bad'), send('good'), send('new'), send('newer')],
    ['alone', undefined, undefined, undefined],
  )
  probe.ask()
  questions[1]?.()
  assert.deepEqual(
    [send('bad'), send('new'), send('good'), send('newer')],
    ['free', 'free', 'alone', undefined],
  )
})

test('What is kept back waits for nothing but what goes alone', () => {
  const { quarantine, suspect, send } = setUp()
  suspect('bad')
  quarantine.sent({ topic: 'bad' }, 1)
  quarantine.ended(true)
  assert.deepEqual([send('new'), send('bad')], ['group', 'held'])
})

test('What the broker answers by itself is under way until it has, also when something that came after it is answered', () => {
  const { probe, questions, goneOn, suspect, send } = setUp()
  suspect('bad')
  const message = { topic: 'bad' }
  assert.equal(probe.admission(message, 1), 'alone')
  probe.sent(message, 1, 'alone', true)
  probe.ask()
  questions[0]?.()
  assert.deepEqual([goneOn(), send('new')], [0, undefined])
  probe.acknowledged(message)
  assert.deepEqual([goneOn(), send('bad'), send('new')], [1, 'free', 'group'])
})
