import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeIsolate, type PlacementRules, workersAtFirst } from '../../../src/sandbox/threads/placement.ts'

const rules: PlacementRules = { isolatesPerWorker: 4, isolatesBeforeNextWorker: 2, cores: 2 }

/** What each worker holds, and the worker that the next plugin gets. */
const table: [title: string, held: Record<number, number>, expected: number | undefined][] = [
  ['without workers a new one', {}, undefined],
  ['the first worker is filled a little', { 1: 1 }, 1],
  ['then comes a second one, for the second core', { 1: 2 }, undefined],
  ['which is filled a little too', { 1: 2, 2: 1 }, 2],
  ['the emptiest of those that are there', { 1: 3, 2: 2 }, 2],
  ['the first one of two that are alike', { 1: 3, 2: 3 }, 1],
  ['a worker that has become small takes the next one', { 1: 4, 2: 1 }, 2],
  ['of two small ones the fuller: the other may become empty', { 1: 0, 2: 1 }, 2],
  ['when all are full a new one, beyond the cores', { 1: 4, 2: 4 }, undefined],
  ['and that one is used', { 1: 4, 2: 4, 3: 1 }, 3],
]

for (const [title, held, expected] of table) {
  test(`§6 placement: ${title}`, () => {
    const workers = new Map(Object.entries(held).map(([worker, count]) => [Number(worker), count]))
    assert.equal(placeIsolate(rules, workers), expected)
  })
}

test('§6 hundreds of plugins take as many workers as they need for their number, and no more', () => {
  for (const count of [1, 2, 3, 8, 9, 100, 301]) {
    const workers = new Map<number, number>()
    for (let plugin = 0; plugin < count; plugin += 1) {
      const worker = placeIsolate(rules, workers) ?? workers.size + 1
      workers.set(worker, (workers.get(worker) ?? 0) + 1)
    }
    const expected = Math.max(Math.ceil(count / 4), count > 2 ? 2 : 1)
    assert.equal(workers.size, expected, `${count} plugins`)
  }
})

test('§6 as many workers are started beforehand as plugins will have side by side', () => {
  for (const [count, expected] of [
    [0, 0],
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 2],
    [500, 2],
  ] as const)
    assert.equal(workersAtFirst(rules, count), expected, `${count} plugins`)
})
