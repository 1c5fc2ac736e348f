/** Watches over what waits for one client that reads a stream. */
export interface Backlog {
  /**
   * Whether a piece of this many bytes may follow. However large one is, it may; what may not be is that much waits
   * already. Who reads nothing has the limit and twice the largest piece waiting at most.
   */
  mayTake(bytes: number): boolean
}

/** `waiting`: bytes that wait for the client now. */
export function createBacklog(limit: number, waiting: () => number): Backlog {
  let largest = 0
  return {
    mayTake(bytes) {
      const backlog = waiting()
      if (backlog === 0) largest = 0
      if (backlog > limit + largest) return false
      largest = Math.max(largest, bytes)
      return true
    },
  }
}
