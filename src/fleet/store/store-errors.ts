import { messageOf } from '../../base/problem.ts'

/** The store did not answer: what was asked for is not known to be done. It may be tried again. */
export class StoreUnreachableError extends Error {
  override readonly name: string = 'StoreUnreachableError'
}

/** Whoever waited for the store does so no longer. */
export function storeGivenUp(): StoreUnreachableError {
  return new StoreUnreachableError("The fleet's store is not waited for any longer.")
}

/** The store answers, and has no room: what was asked for was not done. It may be tried again when there is some. */
export class StoreFullError extends StoreUnreachableError {
  override readonly name = 'StoreFullError'
}

/**
 * The store answers with less than this process has seen there. A server that was cut off from the others does so until it
 * knows that it leads no more, and one that has lost its last writes for ever.
 */
export class StoreBehindError extends StoreUnreachableError {
  override readonly name = 'StoreBehindError'
}

/** Something about the store or what is in it is not as it must be. One sentence that says what to do. */
export class StoreRefusedError extends Error {
  override readonly name: string = 'StoreRefusedError'
}

/** What was to be there is not there. `isCertain`: a store of one server says so, and no other can know better. */
export class StoreMissingError extends StoreRefusedError {
  override readonly name = 'StoreMissingError'

  constructor(
    message: string,
    readonly isCertain: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** What is in the store is not what this process has seen there: it was emptied, or is another one. */
export class StoreReplacedError extends StoreRefusedError {
  override readonly name = 'StoreReplacedError'
}

export function unreachable(error: unknown): StoreUnreachableError {
  return new StoreUnreachableError(`The fleet's store did not answer (${messageOf(error)}).`, {
    cause: error,
  })
}

/** A server that takes connections and answers nothing: 2.9.10 does so from a full disk on, until it is started again. */
export function silent(error: Error): StoreUnreachableError {
  return new StoreUnreachableError(
    `The fleet's store did not answer (${error.message}), although its server can be reached: see the log of nats-server. Its disk may ` +
      'be full (make room there, and start it again), or it may be cut off from the others of its cluster.',
    { cause: error },
  )
}
