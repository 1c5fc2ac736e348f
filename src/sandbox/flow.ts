import { creditLimit, flowCells } from '../schema/flow-cells.ts'

/** The host's end of the cells in which host and isolate hold each other back. */
export interface Flow {
  readonly buffer: SharedArrayBuffer
  /** The isolate may send as much more. Wakes it when it waits for that. */
  giveCredit(credits: number): void
  /** Takes room for a delivery; false when the isolate is that far behind. */
  takeRoom(cost: number): boolean
  /** The call that the isolate serves; 0: none. Also when its worker is dead. */
  serving(): number
}

export function createFlow(deliveryBytes: number): Flow {
  const buffer = new SharedArrayBuffer(flowCells.count * Int32Array.BYTES_PER_ELEMENT)
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
    takeRoom(cost) {
      // Both sums wrap around at 32 bits, so their difference is right.
      const waiting = (sent - Atomics.load(cells, flowCells.handled)) | 0
      // What is larger than the whole room still goes when nothing else waits.
      if (waiting > 0 && waiting + cost > deliveryBytes) return false
      sent = (sent + cost) | 0
      return true
    },
  }
}
