import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeIsolate, type PlacementRules, workersAtFirst } from '../../../src/sandbox/threads/placement.ts'

const rules: PlacementRules = {
  isolatesPerWorker: 4,
  isolatesInSmallGroup: 4,
  shareInOneWorker: 1,
  isolatesBeforeNextWorker: 2,
  cores: 2,
}

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

/** The number of plugins in each worker, when they come one after the other. */
function placedOneByOne(by: PlacementRules, count: number): number[] {
  const workers = new Map<number, number>()
  for (let plugin = 0; plugin < count; plugin += 1) {
    const worker = placeIsolate(by, workers) ?? workers.size + 1
    workers.set(worker, (workers.get(worker) ?? 0) + 1)
  }
  return [...workers.values()]
}

test('§6 hundreds of plugins take as many workers as they need for their number, and no more', () => {
  for (const count of [1, 2, 3, 8, 9, 100, 301])
    assert.equal(
      placedOneByOne(rules, count).length,
      Math.max(Math.ceil(count / 4), count > 2 ? 2 : 1),
      `${count} plugins`,
    )
})

test('§6 few plugins are in small groups, of many each worker has a share, and none has more than fit into it', () => {
  const groups = { ...rules, isolatesPerWorker: 12, isolatesInSmallGroup: 3, shareInOneWorker: 1 / 5 }
  for (const [count, workers, most] of [
    [3, 2, 2],
    [6, 2, 3],
    [7, 3, 3],
    [15, 5, 3],
    [16, 5, 4],
    [43, 5, 9],
    [60, 5, 12],
    [61, 6, 12],
  ] as const) {
    const placed = placedOneByOne(groups, count)
    assert.deepEqual([placed.length, Math.max(...placed)], [workers, most], `${count} plugins`)
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
