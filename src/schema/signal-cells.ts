/** Int32 cells of a worker, of which it waits on the spot for an answer. */
export const signalCells = {
  /** Grows with every message that the worker also reads while it waits: what it sleeps on. */
  received: 0,
  /** 1 while it sleeps. */
  asleep: 1,
  count: 2,
} as const
