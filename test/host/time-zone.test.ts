import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLogger } from '../../src/base/log/log.ts'
import { warnOfUnknownTimeZone } from '../../src/host/time-zone.ts'
import { startHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/** What is said at a start with it, when the process has it as well. */
function warningsOf(
  zone: string | undefined,
  localTime = '/no/such/file',
  environment: { TZ?: string } = zone === undefined ? {} : { TZ: zone },
): string[] {
  const before = process.env.TZ
  const warnings: string[] = []
  const set = (value: string | undefined): void => {
    if (value === undefined) delete process.env.TZ
    else process.env.TZ = value
  }
  try {
    set(zone)
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
    warnOfUnknownTimeZone(environment, logger, localTime)
  } finally {
    set(before)
  }
  return warnings
}

const understood = [
  '',
  'UTC',
  'Etc/UTC',
  'GMT',
  'UTC0',
  'UTC+2',
  'Africa/Abidjan',
  'Europe/Berlin',
  ':Europe/London',
]
for (const zone of [undefined, ...understood]) {
  test(`the time zone ${zone} is understood`, () => assert.deepEqual(warningsOf(zone), []))
}

for (const zone of ['Europe/Berln', 'europe/berlin', 'CET-1CEST,M3.5.0,M10.5.0/3', ':/etc/localtime']) {
  test(`the time zone ${zone}, which is taken for UTC, is warned of`, () => {
    assert.match(warningsOf(zone).join(), /^TZ names no time zone, .* go by UTC$/)
  })
}

test('the time zone of a file that Node takes for UTC is warned of, where TZ says nothing else', async (context) => {
  const file = join(await temporaryDirectory(context), 'localtime')
  await writeFile(file, 'TZif2\u0000\n\u0001\nCET-1CEST,M3.5.0,M10.5.0/3\n')
  // The process goes by UTC, and has not been told to.
  const warnings = (): string[] => warningsOf('UTC', file, {})
  assert.match(
    warnings().join(),
    /^Of the time zone of \S+ only the rule is known here: .* until TZ names it/,
  )
  assert.deepEqual(warningsOf('UTC', file), [])
  assert.deepEqual(warningsOf('Europe/Berlin', file), [])
  await writeFile(file, 'TZif2\u0000\n\u0001\nUTC0\n')
  assert.deepEqual(warnings(), [])
})

test('a host that does not know its time zone says so as it starts', async (context) => {
  const directory = await temporaryDirectory(context)
  const host = await startHostProcess(directory, { environment: { TZ: 'CET-1CEST' } })
  context.after(() => host.stop('SIGKILL'))
  assert.match(host.output(), /"TZ":"CET-1CEST","msg":"TZ names no time zone/)
  await host.stop('SIGTERM')
})
