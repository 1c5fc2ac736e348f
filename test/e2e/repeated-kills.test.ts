import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

test('a host that somebody kills soon after each start is never in safe mode for that', async (context) => {
  const directory = await temporaryDirectory(context)
  for (let count = 0; count < 5; count += 1) {
    const host = await startHostProcess(directory)
    context.after(() => host.stop('SIGKILL'))
    assert.equal(host.ready.safeMode, undefined)
    await host.stop('SIGKILL')
  }
})
