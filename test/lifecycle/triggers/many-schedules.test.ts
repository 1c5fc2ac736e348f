import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNextTime } from '../../../src/lifecycle/triggers/next-time.ts'
import { collectGarbage } from '../../helpers/collect-garbage.ts'

const heap = (): number => {
  collectGarbage()
  return process.memoryUsage().heapUsed / 1024 / 1024
}

test('hundreds of different schedules take little memory, and each has its own times', async () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  const create = (index: number) =>
    createNextTime(
      { kind: 'cron', expression: `${index % 60} ${Math.floor(index / 60)} * * *`, timezone: 'UTC' },
      now,
    )
  // What the library itself takes.
  await create(0)
  const before = heap()
  const times = await Promise.all(Array.from({ length: 600 }, (_, index) => create(index + 1)))
  const grown = heap() - before
  assert.ok(grown < 16, `${times.length} schedules take ${grown.toFixed(1)} MB`)
  assert.deepEqual(
    times.map((next) => next(now)),
    times.map((_, index) => now + (index + 1) * 60_000),
  )
})
