import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slowWriteTime } from '../../src/journal/slow-writes.ts'
import { createRecordingLogger } from '../bus/bus-fixture.ts'
import { createManualClock } from '../helpers/manual-clock.ts'
import { type Stall, stallingFileSystem } from '../helpers/stalling-file-system.ts'
import { startTestHost } from '../helpers/test-host.ts'

test('a disk that does not take what the journal writes is told in one line, and by /readyz, until it does', async (context) => {
  let held: Stall | undefined
  const clock = createManualClock()
  const logger = createRecordingLogger()
  const host = await startTestHost({ clock, logger, files: stallingFileSystem(() => held) })
  context.after(() => host.close())
  await host.request('POST', '/api/plugins/install', { body: { fullId: '@fixtures/hello' } })

  let goOn = (): void => undefined
  const begun = new Promise<void>((resolve) => {
    held = { begun: resolve, over: new Promise((free) => (goOn = free)) }
  })
  const waiting = host.request('POST', '/api/plugins/@fixtures/hello/toggle', { body: { enabled: true } })
  await begun
  assert.equal((await host.request('GET', '/readyz')).status, 200)
  clock.advance(slowWriteTime)
  const { status, body } = await host.request('GET', '/readyz')
  assert.deepEqual(
    [status, body.reasons],
    [503, ['the disk has not taken a write to the journal for 15 s; commands wait for it']],
  )
  held = undefined
  goOn()
  assert.equal((await waiting).status, 200)
  assert.equal((await host.request('GET', '/readyz')).status, 200)
  assert.deepEqual(
    logger.lines.filter(({ message }) => /write to the journal/.test(message)).map(({ message }) => message),
    [
      'The disk does not take a write to the journal; commands wait for it',
      'The disk has answered a write to the journal',
    ],
  )
})
