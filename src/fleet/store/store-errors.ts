/** The fleet's store did not answer: what was asked for is not known to be done. It may be tried again. */
export class StoreUnreachableError extends Error {
  override readonly name = 'StoreUnreachableError'
}

/** Something about the store or what is in it is not as it must be. One sentence that says what to do. */
export class StoreRefusedError extends Error {
  override readonly name = 'StoreRefusedError'
}

/**
 * The store answers with less than this process has seen there. A server that was cut off from the others does so until it
 * knows that it leads no more, and one that has lost its last writes for ever.
 */
export class StoreBehindError extends Error {
  override readonly name = 'StoreBehindError'
}

/** Milliseconds after which a server that was cut off knows it: then what is missing is gone. */
export const behindLimit = 15_000

/** What is in the store is not what this process has seen there: it was emptied, or is another one. */
export class StoreReplacedError extends Error {
  override readonly name = 'StoreReplacedError'
}
