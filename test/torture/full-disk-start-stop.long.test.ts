import assert from 'node:assert/strict'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../src/base/time/clock.ts'
import { systemFileSystem } from '../../src/base/files/file-system.ts'
import { silentLogger } from '../../src/base/log/log.ts'
import { createHost, type Host } from '../../src/host/host.ts'
import { StartInterrupted } from '../../src/host/interrupted-start.ts'
import { diskRetryDelays } from '../../src/base/files/disk-retry-delays.ts'
import { StartError } from '../../src/host/start-conditions.ts'
import { type DiskError, diskErrors, failingFileSystem } from '../helpers/failing-file-system.ts'
import { hostVersion, startTestHost, testSettings } from '../helpers/test-host.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

/**
 * The Nth call to the file system of a start, or of a stop, fails, once or from then on. Each N:
 * `LUPINE_DISK_STEP=1 node scripts/test.mjs test/torture/full-disk-start-stop.long.test.ts`.
 */
const step = Number(process.env.LUPINE_DISK_STEP ?? 5)
const errors = Object.keys(diskErrors) as DiskError[]

/** Tries a full disk again at once; a start that waits for room a second time is ended. */
async function start(directory: string, files = systemFileSystem): Promise<Host> {
  const interrupt = new AbortController()
  let waits = 0
  let started = false
  const clock: Clock = {
    ...systemClock,
    schedule(milliseconds, callback) {
      if (!diskRetryDelays.includes(milliseconds) || started)
        return systemClock.schedule(milliseconds, callback)
      waits += 1
      if (waits > 1) interrupt.abort()
      return systemClock.schedule(0, callback)
    },
  }
  const host = await createHost({
    settings: testSettings(directory),
    logger: silentLogger,
    clock,
    interrupt: interrupt.signal,
    programDirectory: join(import.meta.dirname, '..', '..'),
    hostVersion,
    environment: {},
    files,
  })
  started = true
  return host
}

for (const phase of ['start', 'stop'] as const) {
  test(`a disk that fails at any place of a ${phase} is told in one line, and the next start has everything`, async (context) => {
    const source = await startTestHost()
    context.after(() => source.close())
    for (const [path, body] of [
      ['install', { fullId: '@fixtures/hello' }],
      ['hello/config', { config: { name: 'x' } }],
      ['hello/toggle', {}],
    ] as const) {
      assert.ok((await source.request('POST', `/api/plugins/${path}`, { body })).status < 300)
    }
    // As a kill leaves it, so that a start has to recover.
    const used = await temporaryDirectory(context)
    await cp(source.directory, used, { recursive: true })
    let refusals = 0
    for (const once of [true, false]) {
      for (let place = 1, reached = true; reached; place += step) {
        const directory = await temporaryDirectory(context)
        await cp(used, directory, { recursive: true })
        const error = errors[place % errors.length] ?? 'ENOSPC'
        let calls = 0
        let counting = phase === 'start'
        const files = failingFileSystem(() => {
          if (!counting) return false
          calls += 1
          return (once ? calls === place : calls >= place) && error
        })
        try {
          const host = await start(directory, files)
          counting = phase === 'stop'
          await host.close()
        } catch (refusal) {
          assert.ok(refusal instanceof StartError || refusal instanceof StartInterrupted, String(refusal))
          assert.match(refusal.message, /^[^\n]*\w{3}.*\.$/)
          refusals += 1
        }
        reached = calls >= place
        assert.ok(
          Array.isArray(JSON.parse(await readFile(join(directory, '.host.json'), 'utf8')).repositories),
        )
        const again = await start(directory)
        try {
          const [plugin] = again.lifecycle.list()
          const { enabled, config, state } = plugin ?? {}
          const what = `${error} at call ${place}, ${once ? 'once' : 'from then on'}`
          assert.deepEqual([enabled, config, state], [true, { name: 'x' }, 'running'], what)
          assert.equal(again.lifecycle.safeMode, null, what)
        } finally {
          await again.close()
        }
      }
    }
    assert.equal(refusals > 0, phase === 'start')
  })
}
