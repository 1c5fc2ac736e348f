import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemFileSystem } from '../../../../src/base/files/file-system.ts'
import { silentLogger } from '../../../../src/base/log/log.ts'
import {
  createShortRuns,
  lastingRun,
  shortRunsFile,
} from '../../../../src/host/fleet/membership/short-runs.ts'
import { failingFileSystem } from '../../../helpers/failing-file-system.ts'
import { createManualClock } from '../../../helpers/manual-clock.ts'
import { temporaryDirectory } from '../../../helpers/temporary-directory.ts'
import { until } from '../../../helpers/until.ts'

test('runs that end soon are counted, until one lasts or ends in order', async (context) => {
  const directory = await temporaryDirectory(context)
  const settings = { files: systemFileSystem, directory, logger: silentLogger }
  const run = (clock = createManualClock()) => createShortRuns({ ...settings, clock })
  assert.equal(await run().begin(), 0)
  assert.equal(await run().begin(), 1)
  await run().end()
  const orderlyClock = createManualClock()
  const orderly = run(orderlyClock)
  assert.equal(await orderly.begin(), 2, 'one that never began has not ended in order')
  await orderly.end()
  assert.equal(orderlyClock.waiting, 0)
  assert.equal(await run().begin(), 0)
  const clock = createManualClock()
  const lasting = run(clock)
  assert.equal(await lasting.begin(), 1)
  clock.advance(lastingRun)
  const path = join(directory, shortRunsFile)
  await until('it to be noted', async () => (await readFile(path, 'utf8')) === '{"short":0}')
  for (const damaged of ['{"short":', '{"short":-1}', '{}']) {
    await writeFile(path, damaged)
    assert.equal(await run().begin(), 0, 'nobody knows how many there were')
  }
})

test('a run that cannot be noted goes on', async (context) => {
  const directory = await temporaryDirectory(context)
  const files = failingFileSystem(() => true)
  const runs = createShortRuns({ files, directory, clock: createManualClock(), logger: silentLogger })
  assert.equal(await runs.begin(), 0)
  await runs.end()
})
