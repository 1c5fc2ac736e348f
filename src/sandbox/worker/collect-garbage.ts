/**
 * Collects all garbage of this worker, which takes some tens of milliseconds. V8 has a function for it under a flag only,
 * and refuses the code caches with which workers start under other flags than they were made with: so it is set for this
 * moment, and a worker that starts in it compiles its program itself.
 */
export function collectGarbage(): void {
  const { setFlagsFromString } = globalThis.process.getBuiltinModule('node:v8')
  const { runInNewContext } = globalThis.process.getBuiltinModule('node:vm')
  setFlagsFromString('--expose-gc')
  try {
    const collect = runInNewContext('gc') as () => void
    collect()
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}
