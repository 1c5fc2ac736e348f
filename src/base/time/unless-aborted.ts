/**
 * What comes of the task, but rejects with what `givenUp` makes as soon as nobody waits any more. `undo` gets what comes of it
 * after that.
 */
export function unlessAborted<T>(
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
