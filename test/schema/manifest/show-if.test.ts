import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isShown } from '../../../src/schema/manifest/show-if.ts'

type Values = Record<string, unknown>

const cases: [showIf: Values | null, beside: Values, shown: boolean][] = [
  [null, {}, true],
  [{}, {}, true],
  [{ mode: 'mqtt' }, { mode: 'mqtt' }, true],
  [{ mode: 'mqtt' }, { mode: 'http' }, false],
  [{ mode: 'mqtt' }, {}, false],
  [{ mode: 'mqtt', tls: true }, { mode: 'mqtt', tls: true }, true],
  [{ mode: 'mqtt', tls: true }, { mode: 'mqtt', tls: false }, false],
  [{ mode: ['mqtt', 'http'] }, { mode: 'http' }, true],
  [{ mode: ['mqtt', 'http'] }, { mode: 'serial' }, false],
  [{ mode: [] }, { mode: 'serial' }, false],
  // What is not set is off.
  [{ tls: false }, {}, true],
  [{ tls: false }, { tls: null }, true],
  [{ tls: false }, { tls: '' }, false],
  [{ tls: true }, {}, false],
  [{ name: '' }, {}, true],
  [{ name: '' }, { name: '' }, true],
  [{ name: '' }, { name: 'x' }, false],
  [{ name: null }, {}, true],
  [{ name: [false, 'x'] }, {}, true],
  [{ name: 'undefined' }, {}, false],
  [{ name: 'null' }, { name: null }, false],
  [{ constructor: null }, {}, true],
  // Numbers and switches may be written as text, and text is no number.
  [{ count: '2' }, { count: 2 }, true],
  [{ count: 2 }, { count: 2 }, true],
  [{ count: 2 }, { count: 3 }, false],
  [{ count: 2 }, { count: '2' }, false],
  [{ tls: 'true' }, { tls: true }, true],
  [{ tls: true }, { tls: 'true' }, false],
  [{ tls: 0 }, { tls: false }, false],
  [{ place: { room: 'hall' } }, { place: { room: 'hall' } }, true],
]

test('a field is shown while what stands beside it has the values that it asks for', () => {
  const wrong = cases.filter(([showIf, beside, shown]) => isShown({ showIf }, beside) !== shown)
  assert.deepEqual(wrong, [])
})

test('a value is written as text once, however many others are wanted', () => {
  let written = 0
  const value = {
    toJSON() {
      written += 1
      return 'x'
    },
  }
  assert.equal(isShown({ showIf: { a: ['1', '2', '"x"', '3'] } }, { a: value }), true)
  assert.equal(written, 1)
})
