import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BatchTaskSettings, createBatchTask } from '../../../src/sandbox/operations/batch-task.ts'
import { createFrameWriter, type FrameReader } from '../../../src/schema/worker/message-frames.ts'

/** What becomes of a batch, in order, until it is done. */
function outcomeOf(operations: unknown[], over: BatchTaskSettings['over'] = () => false): unknown[] {
  const seen: unknown[] = []
  const serveFrames = (frames: FrameReader): number => {
    seen.push(frames.next()?.name)
    return 1
  }
  const task = createBatchTask({
    batch: { kind: 'batch', isolate: 1, credits: 7, operations },
    dispatcher: { serve: ({ kind }) => seen.push(kind), serveFrames },
    over,
    nonsense: () => seen.push('nonsense'),
    taken: (batch) => seen.push(batch),
  })
  while (!task());
  return seen
}

const frames = (...names: string[]): Uint8Array<ArrayBuffer> => {
  const writer = createFrameWriter()
  for (const name of names) writer.write('event', name, '1')
  return writer.take()
}
const stored = { kind: 'setKeyValue', key: 'k', entry: { value: 'x'.repeat(1_000) } }

test('a plugin is charged for all that a batch has: each operation and frame, good or not, with its bytes', () => {
  const bytes = frames('a', 'b')
  const size = 'k'.length + 'x'.repeat(1_000).length + bytes.length
  const [charged, ...rest] = outcomeOf([stored, bytes, { kind: 'no operation' }]).reverse()
  assert.deepEqual(rest.reverse(), ['setKeyValue', 'a', 'b', 'nonsense'])
  const { bytes: counted, ...others } = charged as { bytes: number }
  assert.deepEqual(others, { operations: 4, credits: 7 })
  assert.ok(counted >= size && counted < size + 50, `${counted} of ${size} bytes`)
})

test('frames in memory that their worker could change while they are read are refused, and what follows is done', () => {
  const bytes = frames('a')
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  assert.deepEqual(outcomeOf([shared, bytes]).slice(0, -1), ['nonsense', 'a'])
})

test('once a plugin is over nothing more of its batch is done', () => {
  const seen = outcomeOf([stored, stored], () => true)
  assert.deepEqual(seen, ['setKeyValue'])
})
