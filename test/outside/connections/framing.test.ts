import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createFramer } from '../../../src/outside/connections/framing.ts'
import type { Framing } from '../../../src/schema/connection.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** The frames of these chunks; `!` at the end: it was too long. */
function framesOf(framing: Framing, chunks: readonly (string | Uint8Array)[], limit = 100): string[] {
  const frames: string[] = []
  const framer = createFramer({
    ...{ framing, limit, clock: createManualClock() },
    frame: (bytes) => frames.push(Buffer.from(bytes).toString('latin1')),
    overlong: () => frames.push('!'),
  })
  for (const chunk of chunks) framer.push(Buffer.from(chunk as string))
  return frames
}

const line: Framing = { by: 'line' }
const length = (bytes: 2 | 4): Framing => ({ by: 'length', bytes })
const delimiter = (text: string): Framing => ({ by: 'delimiter', delimiter: text })

test('a stream falls into frames, wherever it was cut on the way', () => {
  const cases: [Framing, (string | Uint8Array)[], string[]][] = [
    [line, ['one\r\ntwo\n\n\r\nthr', 'ee\n', 'rest'], ['one', 'two', '', '', 'three']],
    [line, ['a\r', '\nb\rc\n'], ['a', 'b\rc']],
    [delimiter('\x03'), ['\x03a\x03', 'b', '\x03\x03'], ['', 'a', 'b', '']],
    [delimiter('ab'), ['xa', 'bya', 'aab', 'b'], ['x', 'yaa']],
    [length(2), ['\0\x03ab', 'c\0\0\0', '\x01d'], ['abc', '', 'd']],
    [length(4), ['\0\0\0\x02hi\0\0\0\0'], ['hi', '']],
    [delimiter('\xff'), [Buffer.from([65, 255, 66, 255])], ['A', 'B']],
  ]
  for (const [framing, chunks, expected] of cases)
    assert.deepEqual(framesOf(framing, chunks), expected, JSON.stringify([framing, chunks]))
})

test('a frame that is too long ends the stream, when it is known and not later', () => {
  const ten = 'x'.repeat(10)
  const cases: [Framing, string[], string[]][] = [
    [line, [`${ten}\n`, `${ten}x\n`, 'a\n'], [ten, '!']],
    [line, [`${ten}xxx`, 'a\n'], ['!']],
    [line, [`${ten}\r`, '\n'], [ten]],
    [length(2), ['\0\x0a', ten, '\0\x0b'], [ten, '!']],
    [length(4), ['\xff\xff\xff\xff'.slice(0, 4)], ['!']],
  ]
  for (const [framing, chunks, expected] of cases)
    assert.deepEqual(
      framesOf(
        framing,
        chunks.map((chunk) => Buffer.from(chunk, 'latin1')),
        10,
      ),
      expected,
      JSON.stringify([framing, chunks]),
    )
})

test('the cuts change nothing', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 20 }).filter((bytes) => !bytes.includes(3))),
      fc.array(fc.nat(200)),
      (frames, cuts) => {
        const whole = Buffer.concat(frames.flatMap((frame) => [Buffer.from(frame), Buffer.from([3])]))
        const places = [...new Set([0, ...cuts.filter((cut) => cut < whole.length)])].sort((a, b) => a - b)
        const chunks = places.map((from, index) => whole.subarray(from, places[index + 1] ?? whole.length))
        assert.deepEqual(
          framesOf(delimiter('\x03'), chunks),
          frames.map((frame) => Buffer.from(frame).toString('latin1')),
        )
      },
    ),
  )
})

test('silence ends a frame', () => {
  const clock = createManualClock()
  const frames: string[] = []
  const framer = createFramer({
    ...{ framing: { by: 'silence', milliseconds: 5 }, limit: 10, clock },
    frame: (bytes) => frames.push(Buffer.from(bytes).toString()),
    overlong: () => frames.push('!'),
  })
  framer.push(Buffer.from('ab'))
  clock.advance(4)
  framer.push(Buffer.from('c'))
  clock.advance(4)
  assert.deepEqual(frames, [])
  clock.advance(1)
  framer.push(Buffer.from('d'))
  clock.advance(5)
  assert.deepEqual(frames, ['abc', 'd'])
  framer.push(Buffer.from('0123456789012'))
  assert.deepEqual(frames, ['abc', 'd', '!'])
  framer.push(Buffer.from('e'))
  framer.close()
  clock.advance(50)
  assert.deepEqual(frames, ['abc', 'd', '!'])
})

test('a stream of single bytes without an end takes linear time', () => {
  const count = 1_000_000
  const byte = Buffer.from('x')
  const frames: string[] = []
  const framer = createFramer({
    ...{ framing: line, limit: count - 10, clock: createManualClock() },
    frame: () => frames.push('frame'),
    overlong: () => frames.push('!'),
  })
  const before = process.cpuUsage()
  for (let index = 0; index < count; index += 1) framer.push(byte)
  const { user } = process.cpuUsage(before)
  assert.deepEqual(frames, ['!'])
  assert.ok(user < 20_000_000, `${user} µs`)
})
