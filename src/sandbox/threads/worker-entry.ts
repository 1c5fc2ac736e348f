import { readFileSync } from 'node:fs'
import { buildDirectory } from '../../base/files/build-directory.ts'
import { lazily } from '../../base/lazily.ts'
import { signalCells } from '../../schema/worker/shared-cells.ts'
import { unpackCodeCache } from './code-cache.ts'

/** What a worker runs, in memory that all of them share. */
export interface WorkerProgram {
  /** A function expression in Latin-1 that takes `require`. */
  source: SharedArrayBuffer
  /** V8's code cache for it. Where V8 refuses it, as for other flags than it was made with, it compiles the source. */
  code: SharedArrayBuffer | undefined
}

/**
 * Added to a worker's nice value (-20 to 19, 0 is usual): where the processors are all in use, the host's thread and the machine's other
 * programs come first, each with three times a worker's share. It costs nothing where a processor is free.
 */
const niceIncrement = 5

/**
 * What a worker is started with: gives way to the host's thread, says which thread it is, lets the program know how long that has waited for
 * a processor, compiles the program in its `workerData`, or takes it from the cache, and runs it. Only the program itself may ask for
 * modules of Node's; a bootstrap that is given as text finds `require` among the globals.
 */
export const workerBootstrap = `{
  const load = require
  const setup = load('node:worker_threads').workerData
  const { program: { source, code }, signal } = setup
  const { readFileSync, readlinkSync } = load('node:fs')
  let waited = 0
  setup.waited = () => {
    try {
      const [, nanoseconds] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')
      // Not a number: the system says something else there.
      waited = Number(nanoseconds) / 1e6 || waited
    } catch {
      // The system does not say, or not now, as when too many files are open.
    }
    return waited
  }
  try {
    const [, thread] = readlinkSync('/proc/thread-self').split('/task/')
    Atomics.store(new Int32Array(signal), ${signalCells.thread}, Number(thread))
    const { getPriority, setPriority } = load('node:os')
    setPriority(0, Math.min(getPriority(0) + ${niceIncrement}, 19))
  } catch {
    // Linux alone names its threads, and has a nice value for each; elsewhere it is that of the whole process.
  }
  const { Script } = load('node:vm')
  const options = { filename: 'worker.js', cachedData: code && new Uint8Array(code) }
  const script = new Script(Buffer.from(source).latin1Slice(), options)
  for (const name of ['require', 'module', 'exports', '__filename', '__dirname']) delete globalThis[name]
  script.runInThisContext()(load)
}`

export const workerProgram = lazily(() => loadProgram(buildDirectory('worker')))

function loadProgram(directory: URL): WorkerProgram {
  const source = readFileSync(new URL('worker.js', directory))
  const code = unpackCodeCache(source, readFileSync(new URL('worker.cache', directory)))
  return { source: shared(source), code: code && shared(code) }
}

function shared(bytes: Uint8Array): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(bytes.byteLength)
  new Uint8Array(buffer).set(bytes)
  return buffer
}
