/** A promise that somebody else settles. Settling it again does nothing. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: Error): void
}

export function createDeferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<T>((settle, refuse) => {
    resolve = settle
    reject = refuse
  })
  // Nobody may be waiting when it is rejected; that is no reason to end the process.
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}
