/** Int32 cells in memory that threads have in common, for what takes too long as a message, or outlives its worker. */

export function createCells({ count }: { count: number }): SharedArrayBuffer {
  return new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT)
}

/** Credits that an isolate has when the host has taken all that it sent. */
export const creditLimit = 8
/** Bytes of operations, roughly, that go on one credit. */
const creditBytes = 64 * 1024

/**
 * Credits for a batch of so many bytes: the host unpacks a message all at once, before it can think of anybody else, so
 * few large ones may be on their way. The largest takes all there are, and goes alone.
 */
export function creditsFor(bytes: number): number {
  return Math.min(creditLimit, 1 + Math.floor(bytes / creditBytes))
}

/** Int32 cells that the host and one isolate share to hold each other back without a message. */
export const flowCells = {
  /** Credits that the isolate has left before the host has taken earlier batches. */
  credit: 0,
  /** Bytes of the deliveries that the isolate has handled, modulo 2^32. */
  handled: 1,
  /**
   * The call of another plugin that the isolate serves now: its number, or with a minus the isolate in this worker that
   * makes it; 0: none that is another's doing.
   */
  serving: 2,
  count: 3,
} as const

/** Int32 cells of a worker that others look at: of its waits on the spot for an answer, of its memory, and which thread it is. */
export const signalCells = {
  /** Grows with every message that the worker also reads while it waits: what it sleeps on. */
  received: 0,
  /** Odd while it sleeps; grows by two with each thing that it does in between, which is a sign of life. */
  waits: 1,
  /** KiB of its heap and of what it keeps outside, as it looked last: in the midst of long work, too. */
  memory: 2,
  /** Number of its thread in the operating system; 0: it does not say. */
  thread: 3,
  count: 4,
} as const

/**
 * Int32 cells that the two ends of a link between workers have in common (`worker/calls/linked-calls.ts`). Each counts what
 * one end has sent: to look at it takes less than to ask a port that has nothing.
 */
export const linkCells = { fromCaller: 0, fromCallee: 1, count: 2 } as const

/**
 * Int32 cells that the host and a shared worker have in common: whose turn it is, so that the host knows the
 * culprit when the worker hangs or dies, and the host's beats, by which the worker measures time.
 */
export const turnCells = {
  /** Counts the host's beats. When the host stands still so does this, and nobody is blamed for it. */
  beat: 0,
  /** Number of the isolate whose code runs now; 0: none. */
  running: 1,
  /** Grows whenever `running` changes, and when what runs has been asked whether it takes too long. */
  progress: 2,
  /** The isolate that ran last. */
  last: 3,
  /** The isolate for which the worker's memory has grown most; 0: none. */
  largest: 4,
  /** 1 while the worker collects garbage to find out who keeps how much: that is nobody's time. */
  collecting: 5,
  /** The isolate that has to go for its memory, until it has gone; 0: none. */
  evicted: 6,
  /** The machine has hardly any memory left, so the isolate that has grown most has to go: holds for so many beats; 0: it has. */
  short: 7,
  /** KiB by which the worker's memory has grown for `largest`. */
  largestGrown: 8,
  /** 1 while the host does not beat, as nobody has had a turn for a while: the worker asks it to when somebody gets one. */
  paused: 9,
  /** Beats that have been left out in all while it was so. */
  skipped: 10,
  count: 11,
} as const

/** How isolates take turns in a worker that they share. */
export interface TurnRules {
  /** `turnCells`. */
  cells: SharedArrayBuffer
  /** Beats that an isolate may have at a stretch, waits on the stack included; and while it is being loaded. */
  stretchBeats: number
  loadBeats: number
  /** Over so many beats it may keep the worker at a stretch for this share of them, 0 to 1. */
  windowBeats: number
  windowShare: number
  /** Bytes of heap, and of what is kept outside it, at which the isolate that grew most has to go. */
  heapBytes: number
  outsideBytes: number
  /** Bytes by which an isolate may have grown to stay also where the machine is short of memory. */
  sparedBytes: number
}
