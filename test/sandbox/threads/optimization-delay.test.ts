import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Script } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { delayOptimization } from '../../../src/sandbox/threads/optimization-delay.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'
import { createRecorder, pluginSource, testSandbox } from '../stage.ts'

const text = '21 + 21'
const code = new Script(text).createCachedData()
const look = `
const { parentPort, workerData: { text, code } } = require('node:worker_threads')
parentPort.postMessage(new (require('node:vm').Script)(text, { cachedData: code }).cachedDataRejected)
`

/** V8 takes compiled code only with the flags with which it was compiled. */
async function isCodeRejected(): Promise<boolean> {
  const worker = new Worker(look, { eval: true, workerData: { text, code } })
  const [isRejected] = (await once(worker, 'message')) as [boolean]
  await worker.terminate()
  return isRejected
}

/** Another worker has another flag for a moment, in which one look may fall. */
async function isDelayed(): Promise<boolean> {
  for (let looks = 0; looks < 5; looks += 1) if (!(await isCodeRejected())) return false
  return true
}

/** Later versions have nothing to be delayed. */
const isNode20 = process.versions.node.startsWith('20.')

test('V8 optimises as usual again when the last one is done that has asked it to wait', async () => {
  const [first, second] = [delayOptimization(), delayOptimization()]
  assert.equal(await isDelayed(), isNode20)
  first()
  first()
  assert.equal(await isDelayed(), isNode20)
  second()
  assert.equal(await isDelayed(), false)
})

for (const [end, words] of [
  ['expect', 'until all of them are loaded'],
  ['close', 'or the host stops'],
] as const) {
  test(`V8 optimises later while many plugins are loaded into shared workers, ${words}`, async (context) => {
    const sandbox = testSandbox({}, { clock: createManualClock(), isolation: 'shared' })
    context.after(() => sandbox.close())
    await sandbox.expect(20)
    assert.equal(await isDelayed(), false)
    await sandbox.load(pluginSource(''), createRecorder().services)
    assert.equal(await isDelayed(), isNode20)
    await (end === 'expect' ? sandbox.expect(0) : sandbox.close())
    assert.equal(await isDelayed(), false)
  })
}

test('V8 optimises as usual while a few plugins are loaded', async (context) => {
  const sandbox = testSandbox({}, { clock: createManualClock(), isolation: 'shared' })
  context.after(() => sandbox.close())
  await sandbox.expect(19)
  await sandbox.load(pluginSource(''), createRecorder().services)
  assert.equal(await isDelayed(), false)
})
