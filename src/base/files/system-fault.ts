import { systemErrorCode } from '../problem.ts'

/** Too many open files, of this process or of all; no memory, or no more threads; a disk that fails, is full, or was taken away. */
const faults: ReadonlySet<string | undefined> = new Set([
  ...['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EIO', 'ENOSPC', 'EDQUOT', 'ESTALE'],
  // Of Node: a worker thread could not be set up.
  'ERR_WORKER_INIT_FAILED',
])

/**
 * Whether an error, or one that caused it, says that the system is short of something or fails. It says nothing of the file or the
 * plugin that was concerned, and may be over by itself.
 */
export function isSystemFault(error: unknown): boolean {
  if (faults.has(systemErrorCode(error))) return true
  return error instanceof Error && error.cause !== undefined && isSystemFault(error.cause)
}

/** For `catch`: throws a fault of the system again, and answers undefined for every other error. */
export function rethrowSystemFault(error: unknown): undefined {
  if (isSystemFault(error)) throw error
  return undefined
}
