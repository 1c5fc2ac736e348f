import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHostProcess } from '../helpers/host-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

test('a host that dies soon after each start is safe in its fourth, and loads what is enabled in the one after', async (context) => {
  const directory = await temporaryDirectory(context)
  const start = async () => {
    const host = await startHostProcess(directory)
    context.after(() => host.stop('SIGKILL'))
    return host
  }
  const reasons: unknown[] = []
  for (let count = 0; count < 6; count += 1) {
    const host = await start()
    reasons.push(host.ready.safeMode)
    await host.stop('SIGKILL')
  }
  const reason = 'The last 3 starts did not get as far as ready, or the host died within five minutes of it.'
  assert.deepEqual(reasons, [undefined, undefined, undefined, reason, undefined, undefined])
  // Who ends it in order has seen it.
  await (await start()).stop('SIGTERM')
  const host = await start()
  assert.equal(host.ready.safeMode, undefined)
})
