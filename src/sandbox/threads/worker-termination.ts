import { setFlagsFromString } from 'node:v8'
import type { Worker } from 'node:worker_threads'

/**
 * V8 compiles what is hot in threads of its own, and goes on with it while Node takes a worker apart. When such a
 * compilation needs memory then, it may ask for the next step of the garbage collector, of a worker that Node does not know
 * any more, and Node 20 ends the whole process (`Assertion failed: (data.first) != nullptr`). Such steps belong to
 * incremental marking, so none of it begins there while a worker ends: a few milliseconds, in which a collection that is due
 * comes a little later or in one piece. The flag is one of the process, and read each time. With Node 22, 24 and 26 that end
 * was not seen, and they must not have the flag off: a step that was asked for before would end their process.
 */
const isNeeded = process.versions.node.startsWith('20.')
const flag = 'incremental-marking'

/** Workers that are ending. */
let ending = 0

/** Ends a worker at once, whatever it does; resolves when nothing of it is left. */
export async function terminateWorker(worker: Worker): Promise<void> {
  if (!isNeeded) {
    await worker.terminate()
    return
  }
  ending += 1
  if (ending === 1) setFlagsFromString(`--no-${flag}`)
  try {
    await worker.terminate()
  } finally {
    ending -= 1
    if (ending === 0) setFlagsFromString(`--${flag}`)
  }
}
