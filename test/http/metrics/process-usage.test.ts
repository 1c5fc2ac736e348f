import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import performanceHooks from 'node:perf_hooks'
import { test } from 'node:test'
import { createProcessUsage } from '../../../src/http/metrics/process-usage.ts'
import { moduleAddress, printedWithFewFiles } from '../../helpers/few-files.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

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

test('the delay of the event loop is measured finely while somebody reads it, and hardly wakes a host for which nobody does', (context) => {
  const resolutions = new Set<number>()
  const { monitorEventLoopDelay } = performanceHooks
  context.mock.method(performanceHooks, 'monitorEventLoopDelay', ({ resolution = 0 }) => {
    const delays = monitorEventLoopDelay({ resolution })
    const { enable, disable } = delays
    return Object.assign(delays, {
      enable: () => void (resolutions.add(resolution), enable.call(delays)),
      disable: () => void (resolutions.delete(resolution), disable.call(delays)),
    })
  })
  syncBuiltinESMExports()
  context.after(() => {
    context.mock.restoreAll()
    syncBuiltinESMExports()
  })
  const clock = createManualClock()
  const usage = createProcessUsage(clock)
  const measuredAt = (): number[] => [...resolutions]
  assert.deepEqual(measuredAt(), [])
  usage.start()
  assert.deepEqual(measuredAt(), [1_000])
  for (let round = 0; round < 3; round += 1) {
    clock.advance(60_000)
    usage.read()
    assert.deepEqual(measuredAt(), [20])
    clock.advance(60_000)
    assert.deepEqual(measuredAt(), [20])
  }
  clock.advance(120_000)
  assert.deepEqual(measuredAt(), [1_000])
  usage.close()
  assert.deepEqual([measuredAt(), clock.waiting], [[], 0])
  // One that is being answered while the host ends.
  usage.read()
  assert.deepEqual([measuredAt(), clock.waiting], [[], 0])
})
