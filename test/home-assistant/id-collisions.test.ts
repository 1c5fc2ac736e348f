import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byInstallationTime, createIdCollisionCheck } from '../../src/home-assistant/id-collisions.ts'

test('Ids of two plugins may be written alike where the name of one begins with that of the other', () => {
  const mayCollide = createIdCollisionCheck()
  for (const [one, other, expected] of [
    ['@acme/lamp', '@acme/lamp_hall', true],
    ['@acme/lamp', '@acme/lamp.hall', true],
    ['@acme/lamp.a', '@acme/lamp_a', true],
    ['@acme/lamp', '@acme/lamps', false],
    ['@acme/lamp', '@acme/lamp', false],
    ['@acme/lamp', '@acme/hall', false],
    ['@acme/lamp', 'lamp_hall', false],
  ] as const) {
    assert.equal(mayCollide(one, other), expected, `${one} and ${other}`)
    assert.equal(mayCollide(other, one), expected, `${other} and ${one}`)
  }
})

test('Plugins are in the order in which they were installed, of the same moment in that of their names', () => {
  const of = (id: string, installedAt: string) => ({ id, installedAt: `${installedAt}T00:00:00.000Z` })
  const [a, b, c] = [of('@a/z', '2026-01-01'), of('@a/b', '2026-01-02'), of('@a/c', '2026-01-02')]
  assert.deepEqual([c, b, a].sort(byInstallationTime), [a, b, c])
  assert.deepEqual([b, c, a].sort(byInstallationTime), [a, b, c])
})
