import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJsonText } from '../../../src/schema/parsing/json-text.ts'

const faults: [text: string, line: number, column: number][] = [
  ['{"a": [1,2,}', 1, 12],
  ['{"a":1}}', 1, 8],
  ['{a:1}', 1, 2],
  ['nope', 1, 1],
  ['{"a":', 1, 6],
  ['{"a":1,\n "b":tru}', 2, 6],
  ['[1 2]', 1, 4],
  ['[1,\n2,\n]', 3, 1],
  ['{"a":"\\x"}', 1, 7],
  ['{"a":"b\\u00z0"}', 1, 8],
  ['{"a\nb":1}', 1, 4],
  ['{"a":"open}', 1, 12],
  ['{"open', 1, 7],
  ['{"a":01}', 1, 7],
  ['"a\tb"', 1, 3],
  ['{"a":1,}', 1, 8],
  ['{"a":1 "b":2}', 1, 8],
  ['{"a" 1}', 1, 6],
  ['{"a" "b"}', 1, 6],
  ['{1:2}', 1, 2],
  ['[', 1, 2],
  [' ', 1, 2],
  ['[1]"a"', 1, 4],
  ['[[],{},"é",-1.5e3,true,null]x', 1, 29],
  // Without the mark at its beginning, which editors do not count.
  ['\uFEFF{a:1}', 1, 2],
]

test('a text that is not JSON is told the place of its first fault, and nothing of what it says', () => {
  const told = faults.map(([text]) => {
    const parsed = parseJsonText(new TextEncoder().encode(text))
    return parsed.ok ? 'is JSON' : parsed.message
  })
  assert.deepEqual(
    told,
    faults.map(([, line, column]) => `is not valid JSON (line ${line}, column ${column})`),
  )
})

test('of thousands of members that are there twice the first ones are told, and no more than anybody reads', () => {
  const twice = Array.from({ length: 5_000 }, () => '{"a":1,"a":2}').join()
  for (const [name, most] of [
    ['k', 200],
    ['k'.repeat(1_000), 200],
    // One is told in any case.
    ['k'.repeat(100_000), 1],
  ] as const) {
    const parsed = parseJsonText(new TextEncoder().encode(`{"${name}":[${twice}]}`))
    assert.ok(parsed.ok)
    const { repeated } = parsed
    assert.equal(repeated[0], `/${name}/0/a`)
    assert.ok(repeated.length <= most, `${repeated.length}`)
    const length = repeated.reduce((sum, pointer) => sum + pointer.length, 0)
    assert.ok(length <= 200_000, `${length}`)
  }
})

test('half a megabyte takes some times as long as a look at each of its characters, also where it is no JSON', () => {
  const size = 500_000
  /** Microseconds of the processor for one, of several together, as the system tells less of a short time; the least of three. */
  const workOf = (task: () => unknown, tries: number): number =>
    Math.min(
      ...Array.from({ length: 3 }, () => {
        const before = process.cpuUsage()
        for (let tried = 0; tried < tries; tried += 1) task()
        return process.cpuUsage(before).user / tries
      }),
    )
  const plain = JSON.stringify(Array<number>(size / 2).fill(0))
  const look = (): number => {
    let sum = 0
    for (let place = 0; place < plain.length; place += 1) sum += plain.charCodeAt(place)
    return sum
  }
  const least = workOf(look, 100)
  for (const [text, ok] of [
    ['['.repeat(size), false],
    ['[ '.repeat(size / 2), false],
    [`[${'"",'.repeat(150_000)}`, false],
    [plain, true],
    [`[${Array<string>(1_600).fill('1'.repeat(299)).join()}]`, true],
  ] as const) {
    const bytes = new TextEncoder().encode(text)
    assert.equal(parseJsonText(bytes).ok, ok)
    const times = workOf(() => parseJsonText(bytes), 5) / least
    assert.ok(times < 150, `${times} times for ${text.slice(0, 20)}`)
  }
})

test('a member is known again however its name is written, at any place', () => {
  const parsed = parseJsonText(
    new TextEncoder().encode('{"x":[0,{"a\\"/":"]},","\\u0061\\"/":{}},"b"],"\\u0078":{"":1,"":2}}'),
  )
  assert.ok(parsed.ok)
  assert.deepEqual(parsed.repeated, ['/x/1/a"~1', '/x', '/x/'])
})

test('a number that is more than can be kept is told, however it is written, and no other', () => {
  const read = (text: string): boolean => parseJsonText(new TextEncoder().encode(text)).ok
  assert.deepEqual(['1e999', '[-1E+400]', `{"a":${'9'.repeat(400)}}`].map(read), [false, false, false])
  assert.deepEqual(['1e308', `"1e999"`, '1e-999', `0.${'9'.repeat(400)}`].map(read), [true, true, true, true])
})
