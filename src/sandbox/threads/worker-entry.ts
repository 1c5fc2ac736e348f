import { readFileSync } from 'node:fs'
import { buildDirectory } from '../../base/files/build-directory.ts'
import { lazily } from '../../base/lazily.ts'
import { turnCells } from '../../schema/worker/shared-cells.ts'
import { unpackCodeCache } from './code-cache.ts'

/** What a worker runs, in memory that all of them share. */
export interface WorkerProgram {
  /** A function expression in Latin-1 that takes `require`. */
  source: SharedArrayBuffer
  /** V8's code cache for it. Where V8 refuses it, as for other flags than it was made with, it compiles the source. */
  code: SharedArrayBuffer | undefined
}

/**
 * What a worker is started with: says which thread it is, compiles the program in its `workerData`, or takes it from the cache, and runs it. Only
 * the program itself may ask for modules of Node's; a bootstrap that is given as text finds `require` among the globals.
 */
export const workerBootstrap = `{
  const load = require
  const { program: { source, code }, turns } = load('node:worker_threads').workerData
  if (turns !== undefined) {
    try {
      const [, thread] = load('node:fs').readlinkSync('/proc/thread-self').split('/task/')
      Atomics.store(new Int32Array(turns.cells), ${turnCells.thread}, Number(thread))
    } catch {
      // Linux alone has it.
    }
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
