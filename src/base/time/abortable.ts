/**
 * Settles as `task` does, but rejects with the error of `givenUp` as soon as `signal` is aborted; what the task comes to after that
 * goes to `undo`. The task itself goes on.
 */
export function abortable<T>(
  signal: AbortSignal | undefined,
  task: Promise<T>,
  givenUp: () => Error,
  undo: (done: T) => unknown,
): Promise<T> {
  if (signal === undefined) return task
  return new Promise((resolve, reject) => {
    let isAborted = false
    function abort(): void {
      isAborted = true
      reject(givenUp())
    }
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    task
      .then((done) => (isAborted ? undo(done) : resolve(done)))
      .catch(reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}
