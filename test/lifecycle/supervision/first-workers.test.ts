import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Settings } from '../../../src/settings/settings.ts'
import { installAndStart, startHostFor } from '../../helpers/test-host.ts'

/** How many starts stand in the journal of this directory when a worker begins, for each of them. */
function watchWorkers(context: TestContext, directory: string): number[] {
  const starts: number[] = []
  const look = (): void => {
    const lines = readFileSync(join(directory, '.host.journal'), 'utf8').split('\n')
    starts.push(lines.filter((line) => line.includes('"HostStarted"')).length)
  }
  process.on('worker', look)
  context.after(() => process.off('worker', look))
  return starts
}

test('no worker begins before the start is written down, and none in safe mode: one that ends the process leads there', async (context) => {
  const settings: Partial<Settings> = {}
  // A spare one, which is begun a second after another has got work, might come while the host ends.
  const first = await startHostFor(context, { settings, limits: { spareDelay: 600_000 } })
  await installAndStart(first, 'hello')
  const starts = watchWorkers(context, first.directory)
  const second = await first.restart()
  assert.equal((await second.request('GET', '/api/plugins/hello')).body.state, 'running')
  assert.ok(starts.length > 0)
  assert.deepEqual(new Set(starts), new Set([2]))

  starts.length = 0
  settings.safeMode = true
  const third = await second.restart()
  assert.ok(third.host.lifecycle.safeMode !== null)
  assert.deepEqual(starts, [])
})
