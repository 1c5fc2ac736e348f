/** Credits that an isolate has when the host has taken all that it sent. */
export const creditLimit = 8
/** Bytes of operations, roughly, that go on one credit. */
const creditBytes = 64 * 1024

/**
 * Credits for a batch of so many bytes: the host unpacks a message all at once, before it can think of anybody else, so
 * few large ones may be on their way. The largest takes all there are, and goes alone.
 */
export function creditsFor(bytes: number): number {
  return Math.min(creditLimit, 1 + Math.floor(bytes / creditBytes))
}

/** Int32 cells that the host and one isolate share to hold each other back without a message. */
export const flowCells = {
  /** Credits that the isolate has left before the host has taken earlier batches. */
  credit: 0,
  /** Bytes of the deliveries that the isolate has handled, modulo 2^32. */
  handled: 1,
  /**
   * The call of another plugin that the isolate serves now: its number, or with a minus the isolate in this worker that
   * makes it; 0: none that is another's doing.
   */
  serving: 2,
  count: 3,
} as const
