import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serializeJson } from '../../../src/base/text/serialized-json.ts'
import { createWatches } from '../../../src/lifecycle/triggers/watches.ts'
import { collectGarbage } from '../../helpers/collect-garbage.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** Bytes: a fraction of what 50,000 paths of 256 characters take. */
const allowed = 2 * 1024 * 1024

function heap(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

test('objects of ever new paths that come and go leave no memory taken where somebody watches', () => {
  const watches = createWatches(createManualClock(), () => [])
  let told = 0
  const wanted = { of: 'object', pattern: 'plugins.a.b.*.last', now: true, stays: 0, debounce: 0 } as const
  watches.add(
    '@a/b',
    1,
    wanted,
    () => true,
    () => void (told += 1),
  )
  const value = serializeJson(1)
  function comeAndGo(id: string): void {
    watches.changed('object', '@a/b', id, value)
    watches.changed('object', '@a/b', id, undefined)
  }
  const path = (number: number): string => `${'x'.repeat(250)}${number}`
  for (let number = 0; number < 5_000; number += 1) comeAndGo(path(number))
  const first = heap()
  for (let number = 5_000; number < 55_000; number += 1) comeAndGo(path(number))
  assert.ok(heap() - first < allowed, `${heap() - first} bytes`)
  comeAndGo('one.last')
  assert.equal(told, 2)
})
