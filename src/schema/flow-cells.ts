/** Int32 cells that the host and one isolate share to hold each other back without a message. */
export const flowCells = {
  /** Batches that the isolate may still send before the host has taken earlier ones. */
  credit: 0,
  /** Sum of the `cost` of the deliveries that the isolate has handled, modulo 2^32. */
  handled: 1,
  count: 2,
} as const
