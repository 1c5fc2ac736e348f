import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countLines } from '../../../src/base/log/log-counter.ts'
import { type LogFields, type Logger, silentLogger } from '../../../src/base/log/log.ts'
import { createHostLogShare, hostLogLimits } from '../../../src/lifecycle/running/host-log-share.ts'
import type { LogEntry } from '../../../src/schema/plugin/plugin.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { installAndStart, logMessages, startHostFor } from '../../helpers/test-host.ts'

const { operationBurst, operationsPerSecond, byteBurst } = hostLogLimits

function stage() {
  const clock = createManualClock()
  const lines: { level: string; message: string; fields: LogFields }[] = []
  const keep =
    (level: string) =>
    (message: string, fields: LogFields = {}): void =>
      void lines.push({ level, message, fields })
  const logger: Logger = {
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
  }
  const share = createHostLogShare(logger, clock)
  const say = (plugin: string, level: LogEntry['level'], message: string): void =>
    share.write(plugin, { at: '2026-01-01T00:00:00.000Z', level, message })
  /** Lines with this message, and warnings of the host. */
  const count = (message: string): number => lines.filter((line) => line.message === message).length
  const warnings = () => lines.filter(({ message }) => message.startsWith('A plugin logs more than'))
  return { clock, lines, logger, share, say, count, warnings }
}

function times(count: number, task: () => void): void {
  for (let time = 0; time < count; time += 1) task()
}

test('a plugin that logs in a loop has a thousand lines in the host’s log, then some each second, and a warning says how many were left out', () => {
  const { clock, say, count, warnings } = stage()
  times(operationBurst, () => say('@a/chatty', 'info', 'again'))
  assert.deepEqual([count('again'), warnings()], [operationBurst, []])
  times(500, () => say('@a/chatty', 'info', 'again'))
  const written = count('again')
  assert.ok(written <= operationBurst + 1, `${written} lines`)
  assert.deepEqual(
    warnings().map(({ level, fields }) => [level, fields]),
    [['warn', { plugin: '@a/chatty' }]],
  )
  times(10, () => {
    clock.advance(1_000)
    times(500, () => say('@a/chatty', 'info', 'again'))
  })
  const later = count('again') - written
  assert.ok(later >= 10 && later <= 10 * operationsPerSecond + 1, `${later} lines in ten seconds`)
  const { suppressed } = warnings().at(-1)?.fields ?? {}
  assert.ok(Number(suppressed) > 4_000, `${String(suppressed)} left out`)
})

test('neither other plugins nor other levels have less for it, and after a rest all is as it was', () => {
  const { clock, say, count } = stage()
  times(3 * operationBurst, () => say('@a/chatty', 'debug', 'again'))
  say('@a/chatty', 'error', 'the lamp is gone')
  say('@a/quiet', 'debug', 'here')
  assert.deepEqual([count('the lamp is gone'), count('here')], [1, 1])
  const before = count('again')
  clock.advance((2 * operationBurst * 1_000) / operationsPerSecond)
  times(operationBurst, () => say('@a/chatty', 'debug', 'again'))
  assert.equal(count('again') - before, operationBurst)
})

test('how many lines of a plugin were left out is told of that plugin, when it logs again at the latest', () => {
  const { clock, say, count, warnings } = stage()
  times(3 * operationBurst, () => say('@a/chatty', 'info', 'again'))
  times(2 * operationBurst, () => say('@a/other', 'info', 'and again'))
  assert.deepEqual(
    warnings().map(({ fields }) => fields),
    [{ plugin: '@a/chatty' }, { plugin: '@a/other' }],
  )
  clock.advance(60_000)
  say('@a/chatty', 'error', 'the lamp is gone')
  say('@a/other', 'info', 'here')
  say('@a/other', 'info', 'here')
  assert.deepEqual(
    warnings()
      .slice(2)
      .map(({ fields }) => fields),
    [
      { plugin: '@a/chatty', suppressed: 3 * operationBurst - count('again') - 1 },
      { plugin: '@a/other', suppressed: 2 * operationBurst - count('and again') - 1 },
    ],
  )
})

test('a line of a level that the host’s log does not print costs nothing, and there is no warning of it', () => {
  const { clock, lines, logger, count, warnings } = stage()
  const printed: Logger = { ...logger, prints: (level) => level !== 'debug' }
  const share = createHostLogShare(countLines(printed), clock)
  const entry = { at: '2026-01-01T00:00:00.000Z', level: 'debug', message: 'again' } as const
  times(3 * operationBurst, () => share.write('@a/chatty', entry))
  assert.deepEqual(warnings(), [])
  times(3 * operationBurst, () => share.write('@a/chatty', { ...entry, level: 'info', message: 'and again' }))
  assert.ok(count('and again') <= operationBurst + 1, `${lines.length} lines`)
  assert.equal(warnings().length, 1)
})

test('a line counts with its traceback, which may be longer than what it says', () => {
  const { share, count } = stage()
  const fields = { traceback: 'a'.repeat(byteBurst / 4) }
  const entry = { at: '2026-01-01T00:00:00.000Z', level: 'error', message: 'it failed', fields } as const
  times(100, () => share.write('@a/failing', entry))
  assert.ok(count('it failed') <= 5, `${count('it failed')} lines`)
})

test('long lines count by their length, and whoever was removed begins anew', () => {
  const { share, say, count } = stage()
  const long = 'a'.repeat(byteBurst / 4)
  times(100, () => say('@a/chatty', 'info', long))
  assert.ok(count(long) <= 5, `${count(long)} lines`)
  const before = count(long)
  share.forget('@a/chatty')
  say('@a/chatty', 'info', long)
  assert.equal(count(long), before + 1)
})

test('what a plugin logs in a loop is in its own log to the last line, whatever the host’s log has of it', async (context) => {
  const lua = `
local plugin = Plugin:new("chatty")
plugin:onInit(function()
  for line = 1, 3000 do plugin:log("info", "line " .. line) end
end)
`
  let written = 0
  const count = (message: string): void => {
    if (message.startsWith('line ')) written += 1
  }
  const host = await startHostFor(context, {
    plugins: [{ id: 'chatty', lua }],
    logger: { ...silentLogger, info: count },
  })
  await installAndStart(host, 'chatty')
  const messages = await logMessages(host, '@fixtures/chatty')
  assert.equal(
    messages.findLast((message) => message.startsWith('line ')),
    'line 3000',
  )
  assert.ok(written >= operationBurst && written < 2_000, `${written} lines`)
})
