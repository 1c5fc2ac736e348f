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
  const heard: unknown[] = []
  const ask = (): void => lookup('lamp', {}, (error, address) => heard.push(error?.message ?? address))
  ask()
  ask()
  assert.deepEqual(heard, ['no such family', '192.0.2.1'])
})

test('names whose name server was silent are looked up one after another, and hold up no other name', () => {
  let now = 0
  const asked: string[] = []
  const answers = new Map<string, () => void>()
  const heard: string[] = []
  const lookup = createSharedLookup(
    (name, _options, callback) => {
      asked.push(name)
      answers.set(name, () => callback(null, '192.0.2.1', 4))
    },
    () => now,
  )
  const ask = (...names: string[]): void => {
    for (const name of names) lookup(name, {}, () => heard.push(name))
  }
  const answer = (name: string): void => answers.get(name)?.()
  const clouds = ['cloud-1', 'cloud-2', 'cloud-3']
  // Nobody knows yet that they are slow.
  ask('lamp', ...clouds)
  answer('lamp')
  now += 5_000
  for (const name of clouds) answer(name)
  asked.length = 0
  heard.length = 0

  ask(...clouds, 'lamp', 'new')
  assert.deepEqual(asked, ['cloud-1', 'lamp', 'new'])
  answer('lamp')
  now += 5_000
  answer('cloud-1')
  assert.deepEqual(asked, ['cloud-1', 'lamp', 'new', 'cloud-2'])
  // The name server is there again.
  answer('cloud-2')
  answer('cloud-3')
  assert.deepEqual(heard, ['lamp', ...clouds])
  asked.length = 0
  ask('cloud-1', 'cloud-2', 'cloud-3')
  assert.deepEqual(asked, ['cloud-1', 'cloud-2', 'cloud-3'])
})
