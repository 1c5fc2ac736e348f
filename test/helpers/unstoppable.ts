import { syncBuiltinESMExports } from 'node:module'
import workerThreads from 'node:worker_threads'

/**
 * Lua that keeps its worker for good, as a fault of the host or of V8 would: nothing in it asks whether it takes too long. No
 * library call is like that by itself, so the tangent never comes back in the workers that a file of tests makes after this import.
 */
export const unstoppable = 'math.tan(1)'

class Worker extends workerThreads.Worker {
  constructor(program: string, options: workerThreads.WorkerOptions) {
    super(`Math.tan = () => { for (;;); }\n${program}`, options)
  }
}
Object.assign(workerThreads, { Worker })
syncBuiltinESMExports()
