import type { HeapInfo } from 'node:v8'
import { lazily } from '../../base/lazily.ts'

/** Loaded with the first look, seconds after the start: it takes a worker as long as a small plugin. */
const v8 = lazily(() => globalThis.process.getBuiltinModule('node:v8'))

/**
 * Collects all garbage of this worker, in some tens of milliseconds. V8 has a function for it under a flag only, and
 * refuses the code caches with which workers start under other flags than they were made with: so it is set for this
 * moment, and a worker that starts in it compiles its program itself.
 */
const collector = lazily(() => {
  const { setFlagsFromString } = v8()
  const { runInNewContext } = globalThis.process.getBuiltinModule('node:vm')
  // Flags are the whole process's: another worker that starts just now may take this one back before it is seen.
  for (;;) {
    setFlagsFromString('--expose-gc')
    try {
      const gc = runInNewContext('globalThis.gc') as ((options?: { type: 'minor' }) => void) | undefined
      if (gc !== undefined) return gc
    } finally {
      setFlagsFromString('--no-expose-gc')
    }
  }
})

export function collectGarbage(): void {
  const collect = collector()
  collect()
  // V8 frees bytes outside its heap in the background, and takes them off its account when it collects again.
  collect({ type: 'minor' })
}

/** What is allocated just before a collection may keep the system from getting back what it frees. */
export const prepareGarbageCollection = (): void => void collector()

export const heapStatistics = (): HeapInfo => v8().getHeapStatistics()
