import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createFramer, type Framing } from '../../../src/sandbox/worker/plugin-api/connections/framing.ts'

/** The frames of these chunks; `!` at the end: it was too long. */
function framesOf(framing: Framing, chunks: readonly (string | Uint8Array)[], limit = 100): string[] {
  const frames: string[] = []
  const framer = createFramer(framing, limit)
  for (const chunk of chunks) {
    if (chunk === finish) framer.finish()
    else framer.add(Buffer.from(chunk as string))
    for (let frame = framer.next(); frame !== undefined; frame = framer.next())
      frames.push(Buffer.from(frame).toString('latin1'))
  }
  if (framer.isOverlong) frames.push('!')
  return frames
}

const finish = 'nothing came for a while, or the stream has ended'
const line: Framing = { by: 'line' }
const length = (bytes: 2 | 4): Framing => ({ by: 'length', bytes })
const delimiter = (text: string): Framing => ({ by: 'delimiter', delimiter: Buffer.from(text, 'latin1') })
const silence: Framing = { by: 'silence', milliseconds: 5 }

test('a stream falls into frames, wherever it was cut on the way', () => {
  const cases: [Framing, (string | Uint8Array)[], string[]][] = [
    [line, ['one\r\ntwo\n\n\r\nthr', 'ee\n', 'rest'], ['one', 'two', '', '', 'three']],
    [line, ['a\r', '\nb\rc\n'], ['a', 'b\rc']],
    [line, ['a\nb\r', finish, finish], ['a', 'b']],
    [delimiter('\x03'), ['\x03a\x03', 'b', '\x03\x03'], ['', 'a', 'b', '']],
    [delimiter('ab'), ['xa', 'bya', 'aab', 'b'], ['x', 'yaa']],
    [length(2), ['\0\x03ab', 'c\0\0\0', '\x01d'], ['abc', '', 'd']],
    [length(4), ['\0\0\0\x02hi\0\0\0\0'], ['hi', '']],
    [delimiter('\xff'), [Buffer.from([65, 255, 66, 255])], ['A', 'B']],
    [silence, ['ab', 'c', finish, finish, 'd', finish, 'e'], ['abc', 'd']],
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
    [length(4), ['\0\0\0\x0a', ten.slice(1), 'x'], [ten]],
    [length(4), ['\xff\xff\xff\xff'.slice(0, 4)], ['!']],
    [silence, [ten, finish, `${ten}x`, finish, 'a', finish], [ten, '!']],
    [silence, [`${ten}xxx`, 'a'], ['!']],
  ]
  for (const [framing, chunks, expected] of cases)
    assert.deepEqual(
      framesOf(
        framing,
        chunks.map((chunk) => (chunk === finish ? chunk : Buffer.from(chunk, 'latin1'))),
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

test('a stream of single bytes without an end takes linear time', () => {
  const count = 1_000_000
  const byte = Buffer.from('x')
  const framer = createFramer(line, count - 10)
  const before = process.cpuUsage()
  for (let index = 0; index < count; index += 1) {
    framer.add(byte)
    assert.equal(framer.next(), undefined)
  }
  const { user } = process.cpuUsage(before)
  assert.ok(framer.isOverlong)
  assert.ok(user < 20_000_000, `${user} µs`)
})
