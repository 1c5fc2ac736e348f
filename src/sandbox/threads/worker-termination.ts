import type { Worker } from 'node:worker_threads'
import { createProcessFlag } from './process-flag.ts'

/**
 * V8 compiles what is hot in threads of its own, and goes on with it while Node takes a worker apart. Such a compilation needs
 * memory for the strings that it joins, and where the next collection is near it posts a task for it to a worker that Node may
 * not know any more. Node 20 ends the whole process then (`Assertion failed: (data.first) != nullptr`). Node 22, 24 and 26 look
 * up where such tasks go when the worker starts, and drop what comes too late.
 *
 * So while a worker ends V8 posts no tasks of incremental marking, and where it was busy, so that V8 may still compile, takes
 * the next step of marking to be due at any time: a compilation may then take memory beyond the limit of the next collection,
 * where it would else post a request for one. The latter costs whoever allocates in these milliseconds a collection before its
 * time. V8 11.3 reads each flag in one place, each time: `IncrementalMarkingJob::ScheduleTask`, `Heap::IncrementalMarkingLimitReached`.
 * What is left: a heap that has taken seven eighths of its maximum asks for a collection all the same, and a worker that V8
 * itself ends for want of memory is gone before anybody hears of it.
 *
 * Marking as a whole stays on. `--no-incremental-marking` takes concurrent marking along, which does not come back with it, and
 * the process crashes when a worker marks just then.
 */
const isNeeded = process.versions.node.startsWith('20.')
const noTasks = createProcessFlag('--no-incremental-marking-task', '--incremental-marking-task')
const alwaysDue = createProcessFlag('--stress-incremental-marking', '--no-stress-incremental-marking')

/** Ends a worker at once, whatever it does; resolves when nothing of it is left. `wasBusy`: it has computed just before. */
export async function terminateWorker(worker: Worker, { wasBusy }: { wasBusy: boolean }): Promise<void> {
  const flags = isNeeded ? [noTasks, ...(wasBusy ? [alwaysDue] : [])] : []
  for (const flag of flags) flag.ask()
  try {
    await worker.terminate()
  } finally {
    for (const flag of flags) flag.release()
  }
}
