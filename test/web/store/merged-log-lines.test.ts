import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergedLogLines, type LogLine } from '../../../src/web/store/merged-log-lines.ts'
import type { LogEntry } from '../../../src/web/base/types.ts'

const line = (message: string, at: string): LogEntry => ({ at, level: 'info', message })
const a = line('a', '2036-01-01T00:00:00.000Z')
const b = line('b', '2036-01-01T00:00:01.000Z')
const c = line('c', '2026-01-01T00:00:00.000Z')
const d = line('d', '2026-01-01T00:00:00.000Z')
let key = 0
const streamed = (entry: LogEntry, connection: number): LogLine => ({ ...entry, key: (key += 1), connection })

function shown(read: LogEntry[], before: LogLine[]): string[] {
  const lines = mergedLogLines(read, before, 2)
  assert.equal(new Set(lines.map((each) => each.key)).size, lines.length)
  return lines.map(({ message }) => message)
}

test('what the stream has brought since a log was read stands behind it, once, whatever the clock of the host says', () => {
  assert.deepEqual(shown([a, b], []), ['a', 'b'])
  assert.deepEqual(shown([a], [streamed(b, 2)]), ['a', 'b'])
  assert.deepEqual(shown([a, b], [streamed(a, 2), streamed(b, 2), streamed(c, 2)]), ['a', 'b', 'c'])
  // The clock was set back, and it is read again.
  assert.deepEqual(shown([a, b, c], [streamed(b, 2), streamed(c, 2), streamed(d, 2)]), ['a', 'b', 'c', 'd'])
  // What has come longer ago than is read.
  assert.deepEqual(shown([b, c], [streamed(a, 2), streamed(b, 2), streamed(c, 2)]), ['b', 'c'])
})

test('what an earlier connection has brought is read, or gone with the host that had it', () => {
  const before = [...mergedLogLines([a], [], 1), streamed(b, 1)]
  assert.deepEqual(shown([c], before), ['c'])
  assert.deepEqual(shown([a, b, c], before), ['a', 'b', 'c'])
})
