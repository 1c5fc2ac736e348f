/**
 * Int32 cells that the two ends of a link between workers have in common (`worker/calls/linked-calls.ts`). Each counts what
 * one end has sent: to look at it takes less than to ask a port that has nothing.
 */
export const linkCells = { fromCaller: 0, fromCallee: 1, count: 2 } as const

export function createLinkCells(): SharedArrayBuffer {
  return new SharedArrayBuffer(linkCells.count * Int32Array.BYTES_PER_ELEMENT)
}
