/**
 * Watches over what waits for one client that reads a stream. Answers whether a piece of this many bytes may follow. However
 * large one is, it may; what may not be is that much waits already. Who reads nothing has the limit and twice the largest
 * piece waiting at most. `waiting`: bytes that wait for the client now.
 */
export function limitBacklog(limit: number, waiting: () => number): (bytes: number) => boolean {
  let largest = 0
  return (bytes) => {
    const backlog = waiting()
    if (backlog === 0) largest = 0
    if (backlog > limit + largest) return false
    largest = Math.max(largest, bytes)
    return true
  }
}
