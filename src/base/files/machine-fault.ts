import { systemErrorCode } from '../problem.ts'

/** Too many open files, of this process or of all; no memory, or no more threads; a disk that fails, is full, or was taken away. */
const faults: ReadonlySet<string | undefined> = new Set([
  ...['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EIO', 'ENOSPC', 'EDQUOT', 'ESTALE'],
  // Of Node: a worker thread could not be set up.
  'ERR_WORKER_INIT_FAILED',
])

/**
 * Whether the machine is short of something or fails, also below another error. It says nothing of the file or the plugin that
 * was concerned, and may be over by itself.
 */
export function isMachineFault(error: unknown): boolean {
  if (faults.has(systemErrorCode(error))) return true
  return error instanceof Error && error.cause !== undefined && isMachineFault(error.cause)
}

/** For whoever goes on without what could not be had: unless that only cannot be known now. */
export function unlessMachineFault(error: unknown): undefined {
  if (isMachineFault(error)) throw error
  return undefined
}
