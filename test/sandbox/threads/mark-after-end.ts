import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { Script } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { terminateWorker } from '../../../src/sandbox/threads/worker-termination.ts'

/**
 * Ends workers, says whether V8 takes code that was compiled before, then fills its own heap over and over, so that V8 collects;
 * meanwhile V8 writes to the standard output what it marks beside the program, and each collection. Flags belong to the whole
 * process, so this is none that tests share.
 */

const text = '21 + 21'
const code = new Script(text).createCachedData()
const look = `
const { parentPort, workerData: { text, code } } = require('node:worker_threads')
parentPort.postMessage(new (require('node:vm').Script)(text, { cachedData: code }).cachedDataRejected)
`
const end = (wasBusy: boolean): Promise<void> => terminateWorker(new Worker('', { eval: true }), { wasBusy })
await Promise.all([end(true), end(false), end(true)])
const [isRefused] = (await once(new Worker(look, { eval: true, workerData: { text, code } }), 'message')) as [
  boolean,
]
console.log(`refused ${isRefused}`)
setFlagsFromString('--trace-concurrent-marking')
setFlagsFromString('--trace-gc')
let kept: unknown[] = []
for (let times = 0; times < 20; times += 1)
  kept = Array.from({ length: 40 }, () => Array.from({ length: 20_000 }, (_, index) => ({ index })))
console.log(`kept ${kept.length}`)
