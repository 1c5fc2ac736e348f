import assert from 'node:assert/strict'
import type { LookupFunction } from 'node:net'
import { test } from 'node:test'
import { createSharedLookup } from '../../src/outside/shared-lookup.ts'

test('what is asked for differently is looked up apart, and who asks again later anew', () => {
  const asked: unknown[] = []
  const answers: (() => void)[] = []
  const heard: unknown[] = []
  const lookup = createSharedLookup((name, options, callback) => {
    asked.push([name, options])
    answers.push(() => callback(null, `${name} ${answers.length}`, 4))
  })
  const ask = (name: string, options: Parameters<LookupFunction>[1]): void =>
    lookup(name, options, (_error, address) => heard.push(address))
  ask('lamp', {})
  ask('lamp', { family: 0, all: false })
  ask('lamp', { family: 4 })
  ask('other', {})
  assert.deepEqual(asked, [
    ['lamp', {}],
    ['lamp', { family: 4 }],
    ['other', {}],
  ])
  answers[0]?.()
  ask('lamp', {})
  assert.equal(asked.length, 4)
  for (const answer of answers.slice(1)) answer()
  assert.deepEqual(heard, ['lamp 3', 'lamp 3', 'lamp 4', 'other 4', 'lamp 4'])
})

test('nobody waits for what could not even be asked', () => {
  let isFirst = true
  const lookup = createSharedLookup((_name, _options, callback) => {
    if (isFirst) {
      isFirst = false
      throw new Error('no such family')
    }
    callback(null, '192.0.2.1', 4)
  })
  let heard: unknown
  const ask = (): void => lookup('lamp', {}, (_error, address) => (heard = address))
  assert.throws(ask, /no such family/)
  ask()
  assert.equal(heard, '192.0.2.1')
})
