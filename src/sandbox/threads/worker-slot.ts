import type { Excess } from '../../schema/worker/worker-protocol.ts'
import type { IsolateSource } from '../isolate.ts'
import type { MemoryUser } from './memory-eviction.ts'
import type { WorkerThread } from './worker-thread.ts'

/** A place for one isolate in a worker: all that the isolate's host side needs of it. */
export interface WorkerSlot extends Pick<
  WorkerThread,
  'attach' | 'detach' | 'post' | 'postUrgent' | 'signal' | 'watch' | 'usage' | 'fail'
> {
  readonly isolation: 'dedicated' | 'shared'
  /** Number of the worker; isolates with the same one share it. */
  readonly worker: number
  /** Megabytes of heap at which the worker is ended. */
  readonly heapMegabytes: number
  /** The plugin takes too much of this worker. Answers which one it gets the next time, as a part of a sentence. */
  moveAway(excess: Excess): string
  /** Others fill this worker, so that it did not load: the next time it goes to fewer, if these are many. */
  reportWorkerFull(): void
  /** The isolate has ended. `inOrder`: nothing of it is left in the worker. Does not wait for the others. */
  leave(inOrder: boolean): Promise<void>
}

/** Gives isolates their places. */
export interface WorkerSlots {
  /** Throws `IsolateError` when the system has no room for one more worker. */
  take(isolate: number, source: IsolateSource): WorkerSlot
  /** The same, always in a worker of its own. */
  takeDedicated(isolate: number, source: IsolateSource): WorkerSlot
  /**
   * So many isolates come in a moment: workers that they will share are started beforehand, and those that are too many end.
   * Throws nothing.
   */
  expect(isolates: number): Promise<void>
  /** All workers. */
  memoryUsers(): Iterable<MemoryUser>
  /** Ends all workers. */
  close(): Promise<void>
}
