import { signalCells } from '../../../schema/worker/shared-cells.ts'
import { createSpinWait } from './spin-wait.ts'

/** What a worker that waits for an answer sleeps on, and by which the host knows that it waits (`signalCells`). */
export interface WaitingSignal {
  /** To be asked before looking at what has come: what comes after that ends the sleep. */
  seen(): number
  /** Something was done while it waits. */
  live(): void
  /** Until something comes that was not there at `seen`, or for so many milliseconds. */
  sleep(seen: number, milliseconds: number): void
}

export function createWaitingSignal(buffer: SharedArrayBuffer): WaitingSignal {
  const cells = new Int32Array(buffer)
  const { received, waits } = signalCells
  const spinWait = createSpinWait(() => performance.now())
  return {
    seen: () => Atomics.load(cells, received),
    live: () => void Atomics.add(cells, waits, 2),
    sleep(seen, milliseconds) {
      if (spinWait(() => Atomics.load(cells, received) !== seen)) return
      Atomics.add(cells, waits, 1)
      Atomics.wait(cells, received, seen, milliseconds)
      Atomics.add(cells, waits, 1)
    },
  }
}
