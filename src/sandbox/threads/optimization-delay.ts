import { createProcessFlag } from './process-flag.ts'

/**
 * Each worker optimises the Lua machine for itself, and where many plugins are loaded into a few workers that is a fifth of the
 * processor time. Their loads end sooner when V8 waits until a function has run longer, and what is still hot afterwards is
 * optimised then. Later versions of Node decide in another way, and gain nothing by it.
 *
 * The flag is one of the process, and read each time. While it is not the usual one V8 refuses the compiled program that workers
 * start with (30 ms more for each), so it is for those that run already.
 */
const isUseful = process.versions.node.startsWith('20.')
/** Bytes of bytecode that a function executes until V8 considers it once more, as it comes with this version. */
const usual = 66 * 1024
const flag = createProcessFlag(`--interrupt-budget=${4 * usual}`, `--interrupt-budget=${usual}`)

/** V8 optimises later, in all threads, until what is returned is called; again and again does nothing. */
export function delayOptimization(): () => void {
  let active = isUseful
  if (active) flag.ask()
  return () => {
    if (active) flag.release()
    active = false
  }
}
