/** Int32 cells of a worker, of which it waits on the spot for an answer. */
export const signalCells = {
  /** Grows with every message that the worker also reads while it waits: what it sleeps on. */
  received: 0,
  /** Odd while it sleeps; grows by two with each thing that it does in between, which is a sign of life. */
  waits: 1,
  count: 2,
} as const
