import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLogger, logLevels } from '../../../src/base/log/log.ts'
import { messageBytesLimit } from '../../../src/base/text/cut-text.ts'
import { prettyLine, visibleText } from '../../../src/base/log/pretty-line.ts'

/** What a logger of its own process writes for these messages. `added`: code of further fields. */
function written(format: 'pretty' | 'json', message: string, fields: object, added = ''): string {
  const log = JSON.stringify(join(import.meta.dirname, '..', '..', '..', 'src', 'base', 'log', 'log.ts'))
  const code =
    `import { createLogger } from ${log};` +
    `const { format, message, fields } = JSON.parse(process.env.LINE);` +
    `createLogger({ level: 'info', format }).warn(message, { ...fields, ${added} })`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', code],
    { env: { ...process.env, LINE: JSON.stringify({ format, message, fields }) }, encoding: 'utf8' },
  )
  assert.equal(stderr, '')
  return stdout
}

const nasty = 'a\u001b[2J\u009b31m\r\n[00:00:00.000] INFO: ready\u0007\u007f\u202eb\u2066\u2028\u0000'
const shown =
  'a\\u001b[2J\\u009b31m\\u000d\\u000a[00:00:00.000] INFO: ready\\u0007\\u007f\\u202eb\\u2066\\u2028\\u0000'

test('no text of a plugin moves the cursor of a terminal, turns the direction around or makes a line of its own', () => {
  const fields = {
    plain: nasty,
    [`key${nasty}`]: 1,
    error: { message: nasty, stack: nasty },
    list: [nasty],
    stack: nasty,
    type: 'Error',
  }
  const text = written('pretty', nasty, fields)
  const [head = '', ...lines] = text.trimEnd().split('\n')
  assert.match(head, /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] WARN: /)
  assert.ok(head.endsWith(`WARN: ${shown}`), head)
  assert.equal(lines.length, Object.keys(fields).length)
  assert.ok(lines.every((line) => line.startsWith('    ')))
  assert.ok(text.includes(`    key${shown}: 1\n`))

  assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/)
})

test('of an error a line has the message', () => {
  const [json, pretty] = (['json', 'pretty'] as const).map((format) =>
    written(format, 'It failed', { plugin: '@a/b' }, `error: new TypeError('disk on fire')`),
  )
  const { plugin, error } = JSON.parse(json ?? '')
  assert.deepEqual({ plugin, error }, { plugin: '@a/b', error: 'disk on fire' })
  assert.match(pretty ?? '', /^    error: "?disk on fire"?$/m)
})

test('a line for people says the day as well, in the time of this machine', () => {
  const time = '2026-12-31T23:30:00.005Z'
  const line = prettyLine(JSON.stringify({ time, level: 'info', msg: 'ready' }), false)
  const [, day, clock] = /^\[(\S+) (\S+)\] INFO: ready\n$/.exec(line) ?? []
  assert.equal(new Date(`${day}T${clock}`).toISOString(), time)
})

test('a logger says which levels it prints', () => {
  const { prints } = createLogger({ level: 'warn', format: 'json' })
  assert.deepEqual(
    logLevels.filter((level) => prints?.(level)),
    ['warn', 'error'],
  )
})

test('ordinary texts are shown as they are', () => {
  for (const text of ['Größe: 3 °C', '日本語', 'שלום', '"quoted" \\ back', '🦊'])
    assert.equal(visibleText(text), text)
})

test('no text of any size is in a line of the log', () => {
  const large = 'x'.repeat(20_000)
  for (const format of ['pretty', 'json'] as const) {
    const text = written(format, large, { error: large, deep: { list: [large] } })
    assert.ok(text.length < 4 * messageBytesLimit, `${text.length}`)
    assert.match(text, /… \(20,000 bytes\)/)
  }
})
