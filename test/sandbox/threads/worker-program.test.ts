import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { getPriority } from 'node:os'
import { test, type TestContext } from 'node:test'
import { runInThisContext } from 'node:vm'
import { MessageChannel, Worker } from 'node:worker_threads'
import { systemClock } from '../../../src/base/time/clock.ts'
import { defaultLimits } from '../../../src/sandbox/limits.ts'
import { packCodeCache, unpackCodeCache } from '../../../src/sandbox/threads/code-cache.ts'
import { createTurnWatchdog } from '../../../src/sandbox/threads/turn-watchdog.ts'
import { threadTimesOf } from '../../../src/sandbox/threads/thread-times.ts'
import {
  workerBootstrap,
  type WorkerProgram,
  workerProgram,
} from '../../../src/sandbox/threads/worker-entry.ts'
import {
  createCells,
  signalCells,
  turnCells,
  type TurnRules,
} from '../../../src/schema/worker/shared-cells.ts'
import type { WorkerSetup } from '../../../src/schema/worker/worker-protocol.ts'

/** A worker that runs this program, and its first message. */
async function startWorker(
  context: TestContext,
  program: WorkerProgram,
  turns?: TurnRules,
): Promise<{ worker: Worker; message: unknown; thread: number }> {
  const { port1, port2 } = new MessageChannel()
  const setup: WorkerSetup = {
    ...{ urgent: port2, signal: createCells(signalCells) },
    ...(turns && { turns }),
  }
  const options = { eval: true, workerData: { ...setup, program }, transferList: [port2], env: {} }
  const worker = new Worker(workerBootstrap, options)
  context.after(() => worker.terminate())
  port1.unref()
  const [message] = (await once(worker, 'message')) as unknown[]
  return { worker, message, thread: Atomics.load(new Int32Array(setup.signal), signalCells.thread) }
}

async function firstMessage(context: TestContext, program: WorkerProgram): Promise<unknown> {
  return (await startWorker(context, program)).message
}

const rulesOfTurns = (): TurnRules =>
  createTurnWatchdog({
    ...{ clock: systemClock, limits: defaultLimits, threadTimes: () => undefined },
    hung: () => undefined,
  }).rules

function shared(bytes: Uint8Array): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(bytes.byteLength)
  new Uint8Array(buffer).set(bytes)
  return buffer
}

const textOf = (source: SharedArrayBuffer): string => Buffer.from(source).toString('latin1')

test('a worker takes its code from the cache of the build', async (t) => {
  const { source, code } = workerProgram()
  assert.ok(code)
  const { Script } = await import('node:vm')
  const script = new Script(textOf(source), { filename: 'worker.js', cachedData: new Uint8Array(code) })
  assert.equal(script.cachedDataRejected, false)
  assert.deepEqual(await firstMessage(t, { source, code }), { kind: 'ready' })
})

test('a worker says which thread it is, so that it is known how long it has had a processor', async (t) => {
  const { thread } = await startWorker(t, workerProgram())
  const times = threadTimesOf(thread)
  // Other systems do not say.
  if (process.platform === 'linux')
    assert.ok(times !== undefined && times.ran > 1, `it ran for ${times?.ran} ms`)
  else assert.deepEqual([thread, times], [0, undefined])
  assert.equal(threadTimesOf(0), undefined)
})

test('the program of a worker can ask for how long its thread has waited for a processor', async (t) => {
  const text = `(function (require) {
    const { parentPort, workerData } = require('node:worker_threads')
    parentPort.on('message', () => undefined)
    parentPort.postMessage(workerData.waited())
  })`
  const { message, thread } = await startWorker(t, { source: shared(Buffer.from(text)), code: undefined })
  const later = threadTimesOf(thread)?.waited ?? 0
  assert.ok(
    typeof message === 'number' && message >= 0 && message <= later,
    `${String(message)} of ${later} ms`,
  )
  if (process.platform === 'linux') assert.ok(message > 0)
})

test('a worker gives way to the thread of the host', async (t) => {
  const { thread } = await startWorker(t, workerProgram())
  if (process.platform === 'linux')
    assert.equal(getPriority(thread), Math.min(getPriority(process.pid) + 5, 19))
})

test('what comes for a plugin that has ended is no turn of it, and the worker keeps nothing for it', async (t) => {
  const rules = rulesOfTurns()
  const { worker } = await startWorker(t, workerProgram(), rules)
  worker.postMessage({ kind: 'credit', isolate: 7 })
  worker.postMessage({ kind: 'ping', sequence: 1 })
  await once(worker, 'message')
  assert.equal(Atomics.load(new Int32Array(rules.cells), turnCells.last), 0)
})

test('a worker compiles its program where there is no code for it, or none that V8 takes', async (t) => {
  const { source, code } = workerProgram()
  assert.deepEqual(await firstMessage(t, { source, code: undefined }), { kind: 'ready' })
  // V8 looks at the head alone: the version of V8 stands there.
  const ofAnother = new Uint8Array(code ?? new ArrayBuffer(0)).map((byte, index) =>
    index === 4 ? ~byte : byte,
  )
  assert.deepEqual(await firstMessage(t, { source, code: shared(ofAnother) }), { kind: 'ready' })
})

test('code of another program is not taken, however alike the two are, and none that is damaged', () => {
  const program = Buffer.from('(function (require) { return 1 })')
  const other = Buffer.from('(function (require) { return 2 })')
  const packed = packCodeCache(program, Buffer.from('code'))
  assert.deepEqual(unpackCodeCache(program, packed), Buffer.from('code'))
  assert.equal(unpackCodeCache(other, packed), undefined)
  assert.equal(unpackCodeCache(program, Buffer.alloc(0)), undefined)
  const damaged = packed.map((byte, index) => (index === packed.length - 1 ? ~byte : byte))
  assert.equal(unpackCodeCache(program, Buffer.from(damaged)), undefined)
})

test('the program finds no `require` and no module among its globals', async (t) => {
  const names = ['require', 'module', 'exports', '__filename', '__dirname']
  const text = `(function (require) {
    const { parentPort } = require('node:worker_threads')
    parentPort.postMessage(${JSON.stringify(names)}.filter((name) => name in globalThis))
  })`
  assert.deepEqual(await firstMessage(t, { source: shared(Buffer.from(text)), code: undefined }), [])
})

test('the program of the workers is small, and asks for little of Node', () => {
  const text = textOf(workerProgram().source)
  assert.ok(text.length < 390_000, `it has ${text.length} bytes`)
  const modules = [...text.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name]) => name)
  // Ciphers are needed when a plugin uses them.
  const known = ['node:buffer', 'node:crypto', 'node:util', 'node:worker_threads']
  assert.deepEqual([...new Set(modules)].sort(), known)
  const asked = new Set<string>()
  const program = runInThisContext(text) as (require: (name: string) => unknown) => void
  const require = createRequire(import.meta.url)
  const record = (name: string): unknown => {
    asked.add(name)
    return require(name)
  }
  // It ends when it has loaded all that it loads at once, because this is no worker.
  assert.throws(() => program(record), /run by the host as a worker thread/)
  // Node has the first one in any case, for `Buffer`.
  assert.deepEqual([...asked].sort(), ['node:buffer', 'node:util', 'node:worker_threads'])
})
