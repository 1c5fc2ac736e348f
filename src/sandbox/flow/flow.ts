import { createCells, creditLimit, flowCells } from '../../schema/worker/shared-cells.ts'

/** The host's end of the cells in which host and isolate hold each other back. */
export interface Flow {
  readonly buffer: SharedArrayBuffer
  /** The isolate may send as much more. Wakes it when it waits for that. */
  giveCredit(credits: number): void
  /** Whether there is room for a delivery; false when the isolate is that far behind. */
  hasRoom(): boolean
  /** A delivery of so many bytes is on its way. */
  sent(bytes: number): void
  /** The call that the isolate serves; 0: none. Also when its worker is dead. */
  serving(): number
}

export function createFlow(deliveryBytes: number): Flow {
  const buffer = createCells(flowCells)
  const cells = new Int32Array(buffer)
  Atomics.store(cells, flowCells.credit, creditLimit)
  let sent = 0
  return {
    buffer,
    serving: () => Atomics.load(cells, flowCells.serving),
    giveCredit(credits) {
      Atomics.add(cells, flowCells.credit, credits)
      Atomics.notify(cells, flowCells.credit)
    },
    // Both sums wrap around at 32 bits, so their difference is right. The last one may be larger than the room is.
    hasRoom: () => ((sent - Atomics.load(cells, flowCells.handled)) | 0) < deliveryBytes,
    sent(bytes) {
      sent = (sent + bytes) | 0
    },
  }
}
