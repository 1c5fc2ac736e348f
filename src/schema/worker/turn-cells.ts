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
  /** Number of the worker's thread in the operating system; 0: it does not say. */
  thread: 6,
  /** The isolate that has to go for its memory, until it has gone; 0: none. */
  evicted: 7,
  count: 8,
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
}
