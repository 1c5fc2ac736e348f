import assert from 'node:assert/strict'
import { test } from 'node:test'
import { moduleAddress, printedWithFewFiles } from '../../helpers/few-files.ts'

test('what the process takes can be asked for while no file descriptor is left', (context) => {
  const printed = printedWithFewFiles(
    context,
    `import { createProcessUsage } from ${moduleAddress('http/metrics/process-usage.ts')}
    import { systemClock } from ${moduleAddress('base/time/clock.ts')}
    const usage = createProcessUsage(systemClock)
    fill()
    const { resident, heapUsed } = usage.read()
    release()
    console.log(resident > 0, heapUsed > 0)`,
  )
  if (printed !== undefined) assert.equal(printed, 'true true\n')
})
