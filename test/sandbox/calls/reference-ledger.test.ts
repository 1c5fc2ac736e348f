import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createReferenceLedger, type ReferenceLedger } from '../../../src/sandbox/calls/reference-ledger.ts'
import type { Reference } from '../../../src/schema/worker/plugin-call.ts'

const thing = (owner: number, handle: number): Reference => ({ owner, handle, type: 'table', plugin: '@a/b' })

function ledgerOf(...isolates: number[]): { ledger: ReferenceLedger; dropped: number[][] } {
  const dropped: number[][] = []
  const ledger = createReferenceLedger((...drop) => void dropped.push(drop))
  for (const isolate of isolates) ledger.join(isolate)
  return { ledger, dropped }
}

test('a thing is held by whom it was handed to, and dropped when the last one has released it', () => {
  const { ledger, dropped } = ledgerOf(1, 2, 3)
  assert.equal(ledger.transfer(1, 2, [thing(1, 7)]), true)
  assert.equal(ledger.transfer(1, 2, [thing(1, 7)]), true)
  assert.equal(ledger.transfer(2, 3, [thing(1, 7)]), true)
  assert.deepEqual([ledger.holds(2, 1, 7), ledger.holds(3, 1, 7), ledger.holds(3, 1, 8)], [true, true, false])
  ledger.release(2, [{ owner: 1, handle: 7, count: 2 }])
  assert.deepEqual([dropped, ledger.holds(2, 1, 7)], [[], false])
  ledger.release(3, [{ owner: 1, handle: 7, count: 1 }])
  assert.deepEqual([dropped, ledger.size], [[[1, 7, 2]], 0])
})

test('nobody hands on, or uses, what he was not given', () => {
  const { ledger } = ledgerOf(1, 2, 3)
  assert.equal(ledger.transfer(2, 3, [thing(2, 1), thing(1, 7)]), false)
  assert.deepEqual([ledger.holds(3, 1, 7), ledger.holds(3, 2, 1), ledger.size], [false, false, 0])
})

test('a release that was on its way while the thing was sent again does not lose it', () => {
  const { ledger, dropped } = ledgerOf(1, 2)
  ledger.transfer(1, 2, [thing(1, 7)])
  ledger.transfer(1, 2, [thing(1, 7)])
  ledger.release(2, [{ owner: 1, handle: 7, count: 1 }])
  assert.deepEqual([dropped, ledger.holds(2, 1, 7)], [[], true])
})

test('what reached nobody is dropped at once', () => {
  const { ledger, dropped } = ledgerOf(1, 2)
  ledger.discard(1, [thing(1, 7), thing(2, 3)])
  assert.deepEqual(dropped, [[1, 7, 1]])
})

test('the end of an isolate tells who held its things, and lets go of what it held', () => {
  const { ledger, dropped } = ledgerOf(1, 2, 3)
  ledger.transfer(1, 2, [thing(1, 7)])
  ledger.transfer(1, 3, [thing(1, 8)])
  ledger.transfer(2, 1, [thing(2, 1)])
  assert.deepEqual(ledger.leave(1), [2, 3])
  assert.deepEqual([dropped, ledger.size], [[[2, 1, 1]], 0])
  assert.equal(ledger.transfer(2, 3, [thing(1, 7)]), true, 'what has ended may be handed on')
  assert.equal(ledger.size, 0)
})

test('whatever is handed over and released: what was sent is what is dropped, and nothing is left', () => {
  const step = fc.record({
    from: fc.integer({ min: 0, max: 2 }),
    to: fc.integer({ min: 0, max: 2 }),
    owner: fc.integer({ min: 0, max: 2 }),
    handle: fc.integer({ min: 1, max: 3 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const { ledger, dropped } = ledgerOf(0, 1, 2)
      const held = new Map<string, number>()
      const sent = new Map<string, number>()
      for (const { from, to, owner, handle } of steps) {
        const may = owner === from || (held.get(`${from} ${owner} ${handle}`) ?? 0) > 0
        assert.equal(ledger.transfer(from, to, [thing(owner, handle)]), may)
        if (!may || to === owner) continue
        const key = `${to} ${owner} ${handle}`
        held.set(key, (held.get(key) ?? 0) + 1)
        if (owner === from) sent.set(`${owner} ${handle}`, (sent.get(`${owner} ${handle}`) ?? 0) + 1)
      }
      for (const [key, count] of held) {
        const [holder = 0, owner = 0, handle = 0] = key.split(' ').map(Number)
        ledger.release(holder, [{ owner, handle, count }])
      }
      assert.equal(ledger.size, 0)
      assert.deepEqual(new Map(dropped.map(([owner, handle, times]) => [`${owner} ${handle}`, times])), sent)
    }),
  )
})
