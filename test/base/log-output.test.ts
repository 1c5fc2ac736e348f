import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogOutput } from '../../src/base/log-output.ts'

/** An output that takes so many bytes at a time; in place of a number, the code with which it fails. */
function setUp(...takes: (number | string)[]) {
  const reports: number[] = []
  const written: string[] = []
  const output = createLogOutput(
    (lines) => reports.push(lines),
    (bytes) => {
      const take = takes.shift() ?? bytes.length
      if (typeof take === 'string') throw Object.assign(new Error(take), { code: take })
      written.push(Buffer.from(bytes.subarray(0, take)).toString())
      return Math.min(take, bytes.length)
    },
  )
  return { output, reports, text: () => written.join('') }
}

test('A log line that a full disk or a closed pipe does not take is lost, counted, and throws nothing', () => {
  const { output, reports, text } = setUp('ENOSPC', 'EPIPE', 'EIO')
  for (const line of ['one\n', 'two\n', 'three\n', 'four\n', 'five\n']) output.write(line)
  assert.deepEqual([text(), reports], ['four\nfive\n', [3]])
})

test('Half a log line gets an end before the next one', () => {
  const { output, reports, text } = setUp(2, 'ENOSPC')
  output.write('one\n')
  output.write('two\n')
  assert.deepEqual([text(), reports], ['on\ntwo\n', [1]])
})

test('A reader who is a little behind loses nothing', () => {
  const { output, reports, text } = setUp(2, 'EAGAIN', 'EAGAIN')
  output.write('one\n')
  assert.deepEqual([text(), reports], ['one\n', []])
})

test('A reader who does not read at all is waited for once, not at every line', () => {
  const { output, reports, text } = setUp(...Array.from({ length: 1_000 }, () => 'EAGAIN'))
  const start = performance.now()
  for (let line = 0; line < 900; line += 1) output.write('line\n')
  assert.ok(performance.now() - start < 30_000)
  assert.equal(text(), '')
  for (let line = 0; line < 200; line += 1) output.write('line\n')
  assert.equal(reports.length, 1)
})
