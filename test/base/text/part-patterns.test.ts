import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { partPattern } from '../../../src/base/text/part-pattern.ts'
import { createPartPatterns } from '../../../src/base/text/part-patterns.ts'

const text = fc
  .array(fc.constantFrom('a', 'b', '', '*', '**'), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join(':'))

test('many patterns mean what each of them means by itself, whichever were removed', () => {
  const steps = fc.array(fc.tuple(text, fc.boolean()), { maxLength: 300, size: 'max' })
  fc.assert(
    fc.property(steps, fc.array(text, { size: 'max', maxLength: 40 }), (added, names) => {
      const patterns = createPartPatterns(':')
      const kept = new Set<string>()
      for (const [pattern, stays] of added) {
        if (stays) {
          patterns.add(pattern)
          kept.add(pattern)
        } else assert.equal(patterns.delete(pattern), kept.delete(pattern))
        assert.equal(patterns.size, kept.size)
      }
      for (const name of names) {
        const parts = name.split(':')
        const isMeant = [...kept].some((pattern) => partPattern(pattern, ':')(parts))
        assert.equal(patterns.matches(name), isMeant, name)
      }
    }),
  )
})

test('of hundreds of patterns that have parts in common each one is found, and none that was removed', () => {
  const patterns = createPartPatterns(':')
  const pattern = (n: number): string => `house:room${n % 10}:*:${n}`
  for (let n = 0; n < 500; n += 1) patterns.add(pattern(n))
  for (let n = 0; n < 500; n += 3) patterns.delete(pattern(n))
  for (let n = 500; n < 600; n += 1) patterns.add(pattern(n))
  for (let n = 0; n < 600; n += 1) {
    assert.equal(patterns.matches(`house:room${n % 10}:x:${n}`), n >= 500 || n % 3 !== 0)
    assert.equal(patterns.matches(`house:room${(n + 1) % 10}:x:${n}`), false)
  }
})

test('a pattern of more parts than 64 is refused, and a name of more parts is none that is meant', () => {
  const patterns = createPartPatterns(':')
  const parts = (count: number): string => Array.from({ length: count }, () => '*').join(':')
  patterns.add(parts(64))
  assert.throws(() => patterns.add(parts(65)), /more than 64 parts/)
  assert.equal(patterns.matches(parts(64)), true)
  assert.equal(patterns.matches(parts(65)), false)
  assert.equal(patterns.matches(parts(200)), false)
})
