import { syncBuiltinESMExports } from 'node:module'
import workerThreads from 'node:worker_threads'

/** Nobody else in the process, such as a plugin of another file of tests that works out where the sun stands, asks for its tangent. */
const angle = 1234567.25

/**
 * Lua that keeps its worker for good, as a fault of the host or of V8 would: nothing in it asks whether it takes too long. No
 * library call is like that by itself, so this tangent never comes back in the workers that are made after this import.
 */
export const unstoppable = `math.tan(${angle})`

class Worker extends workerThreads.Worker {
  constructor(program: string, options: workerThreads.WorkerOptions) {
    const patch = `{
      const { tan } = Math
      Math.tan = (of) => { for (; of === ${angle};); return tan(of) }
    }`
    super(`${patch}\n${program}`, options)
  }
}
Object.assign(workerThreads, { Worker })
syncBuiltinESMExports()
