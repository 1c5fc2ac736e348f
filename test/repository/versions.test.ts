import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  canAgree,
  hostSupports,
  isNewer,
  isPrerelease,
  isSameVersion,
  isVersionRange,
  newestFirst,
  satisfies,
} from '../../src/repository/versions.ts'

test('a version is newer by its numbers, and a prerelease is older than its release', () => {
  const newer: [string, string][] = [
    ['1.10.0', '1.9.0'],
    ['v2.0.0', '1.0.0'],
    ['1.0.0', '1.0.0-beta.1'],
    ['1.0.0-beta.2', '1.0.0-beta.1'],
  ]
  for (const [later, earlier] of newer) {
    assert.equal(isNewer(later, earlier), true, `${later} > ${earlier}`)
    assert.equal(isNewer(earlier, later), false, `${earlier} < ${later}`)
  }
  assert.equal(isNewer('1.0.0+b', '1.0.0+a'), false)
  assert.equal(isNewer('soon', '1.0.0'), false)
  assert.equal(isNewer('1.0.0', 'soon'), false)
  assert.equal(isNewer('99999999999999999999.0.0', '1.0.0'), false)
})

test('versions are put in order, and each of many is read once', () => {
  const inOrder = ['2.0.0', '2.0.0-beta.10', '2.0.0-beta.9', '1.10.0+b', '1.10.0+a', '1.9.0', 'soon', 'later']
  const given = ['soon', '1.9.0', '2.0.0-beta.9', '1.10.0+b', '2.0.0', 'later', '1.10.0+a', '2.0.0-beta.10']
  const sorted = newestFirst(given.map((version) => ({ version })))
  assert.deepEqual(
    sorted.map(({ version }) => version),
    inOrder,
  )
  let reads = 0
  const counting = Array.from({ length: 1_000 }, (_, index) => ({
    get version() {
      reads += 1
      return `1.0.0-nightly.${(index * 7) % 1_000}`
    },
  }))
  newestFirst(counting)
  assert.equal(reads, counting.length)
})

test('what comes before a release is told from it, also where its hyphen is left out', () => {
  const table: [version: string, isBefore: boolean][] = [
    ['1.3.0-beta.1', true],
    ['1.3.0beta', true],
    ['1.3.0', false],
    ['1.3.0+beta', false],
    ['soon', false],
  ]
  assert.deepEqual(
    table.map(([version]) => [version, isPrerelease(version)]),
    table,
  )
  assert.equal(isNewer('1.3.0', '1.3.0beta'), true)
  assert.equal(isNewer('1.3.0beta', '1.2.0'), true)
  assert.equal(satisfies('1.3.0beta', '^1.2.0'), true)
  assert.equal(isVersionRange('>=1.3.0beta'), true)
})

test('a leading v makes no other version', () => {
  assert.equal(isSameVersion('v1.2.3', '1.2.3'), true)
  assert.equal(isSameVersion('1.2.3', '1.2.4'), false)
  assert.equal(isSameVersion('1.2.3+a', '1.2.3+b'), false)
  assert.equal(isSameVersion('soon', 'soon'), true)
  assert.equal(isSameVersion('soon', '1.0.0'), false)
  assert.equal(isSameVersion('1.0.0', 'soon'), false)
})

test('a range takes prereleases for what they are', () => {
  assert.equal(satisfies('1.3.0', '^1.2.0'), true)
  assert.equal(satisfies('1.3.0-beta.1', '^1.2.0'), true)
  assert.equal(satisfies('2.0.0-beta.1', '^1.2.0'), false)
  assert.equal(satisfies('v1.2.0', '>=1 <3'), true)
  assert.equal(satisfies('1.2.0', 'whatever it takes'), false)
  assert.equal(satisfies('soon', '*'), false)
  assert.deepEqual(['', '*', '1.x', '^1 || ^2', 'latest', '>>1'].map(isVersionRange), [
    true,
    true,
    true,
    true,
    false,
    false,
  ])
})

test('two ranges agree where a version lies in both, of those before a release as well', () => {
  const table: [left: string, right: string, agree: boolean][] = [
    ['^1.2.0', '>=1.5.0 <3', true],
    ['^1.2.0', '^2.0.0', false],
    ['>=1.3.0beta', '^1.2.0', true],
    ['1.x', '>=1.0.0-beta.1 <1.0.0', true],
    ['^1.0.0', '>=1.0.0-beta.1 <1.0.0', false],
  ]
  assert.deepEqual(
    table.map(([left, right]) => [left, right, canAgree(left, right)]),
    table,
  )
})

test('a host supports what asks for its version or an older one', () => {
  const cases: [string, string, boolean][] = [
    ['1.0.0', '1.0.0', true],
    ['v1.0.0', '1.2.0', true],
    ['1.0.0', 'v1.2.0', true],
    ['1.2.1', '1.2.0', false],
    // A prerelease host has what its release brings, but not what the next one does.
    ['1.2.0', '1.2.0-beta.1', true],
    ['1.2.1', '1.2.0-beta.1', false],
    ['1.2.0-beta.2', '1.2.0-beta.1', false],
    ['1.2.0-beta.1', '1.2.0', true],
    ['soon', '1.2.0', false],
    ['1.2.0', 'soon', false],
  ]
  for (const [needed, host, expected] of cases) {
    assert.equal(hostSupports(needed, host), expected, `${needed} on ${host}`)
  }
})
