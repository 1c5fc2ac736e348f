import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogOutput } from '../../../src/base/log/log-output.ts'

/** An output that takes so many bytes at a time; in place of a number, the code with which it fails. */
function setUp(...takes: (number | string)[]) {
  const reports: number[] = []
  const written: string[] = []
  const scheduled: (() => void)[] = []
  const output = createLogOutput(
    (lines) => reports.push(lines),
    (bytes) => {
      const take = takes.shift() ?? bytes.length
      if (typeof take === 'string') throw Object.assign(new Error(take), { code: take })
      written.push(Buffer.from(bytes.subarray(0, take)).toString())
      return Math.min(take, bytes.length)
    },
    {
      schedule(_milliseconds, callback) {
        scheduled.push(callback)
        return { cancel: () => void scheduled.splice(scheduled.indexOf(callback), 1) }
      },
    },
  )
  const turn = (): void => {
    const next = scheduled.shift()
    if (next === undefined) throw new Error('nothing is scheduled')
    next()
  }
  return { output, reports, text: () => written.join(''), turn }
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

test('A reader who is a little behind loses nothing, and holds up nobody', () => {
  const { output, reports, text, turn } = setUp(2, 'EAGAIN', 'EAGAIN', 5, 'EAGAIN')
  output.write('one\n')
  output.write('two\n')
  assert.equal(text(), 'on')
  turn()
  assert.equal(text(), 'on')
  turn()
  assert.equal(text(), 'one\ntwo')
  output.write('three\n')
  turn()
  output.write('four\n')
  assert.deepEqual([text(), reports], ['one\ntwo\nthree\nfour\n', []])
  assert.throws(turn, /nothing is scheduled/)
})

test('For a reader who does not read at all a mebibyte waits; what comes on top is lost, and counted', () => {
  const { output, reports, text, turn } = setUp(...Array.from({ length: 4 }, () => 'EAGAIN'))
  const line = `${'x'.repeat(1023)}\n`
  for (let number = 0; number < 1_030; number += 1) output.write(line)
  for (let look = 0; look < 3; look += 1) turn()
  assert.deepEqual([text(), reports], ['', []])
  turn()
  assert.deepEqual([text(), reports], [line.repeat(1_024), [6]])
})

test('What waits when the output fails is lost, and when the process ends it is written', () => {
  const failing = setUp(2, 'EAGAIN', 'EPIPE')
  for (const line of ['one\n', 'two\n']) failing.output.write(line)
  failing.turn()
  failing.output.write('three\n')
  assert.deepEqual([failing.text(), failing.reports], ['on\nthree\n', [2]])

  const ending = setUp('EAGAIN', 'EAGAIN', 3, 'EAGAIN')
  for (const line of ['one\n', 'two\n']) ending.output.write(line)
  ending.output.flush()
  assert.equal(ending.text(), 'one\ntwo\n')
  assert.throws(ending.turn, /nothing is scheduled/)
})
