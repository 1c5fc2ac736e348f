/**
 * What collects all garbage of this worker, in some tens of milliseconds. V8 has a function for it under a flag only, and
 * refuses the code caches with which workers start under other flags than they were made with: so it is set for this
 * moment, and a worker that starts in it compiles its program itself. To be had early: what is allocated just before a
 * collection may keep the system from getting back what it frees.
 */
export function garbageCollector(): () => void {
  const { setFlagsFromString } = globalThis.process.getBuiltinModule('node:v8')
  const { runInNewContext } = globalThis.process.getBuiltinModule('node:vm')
  setFlagsFromString('--expose-gc')
  try {
    return runInNewContext('gc') as () => void
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}
