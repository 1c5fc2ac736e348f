import { type HostState, initialState } from './evolve.ts'

/** Events from one checkpoint to the next, at first. */
const firstInterval = 1_000
/** Checkpoints that are kept: each may hold a state of every plugin, some kilobytes apiece. */
const checkpointsLimit = 256

/**
 * Folds that are kept, so that the state at any event is some thousand steps away at most. When there are too
 * many, every other one goes and those to come are twice as far apart: memory has a bound however long the
 * journal is.
 */
export interface Checkpoints {
  /** Told of the state after every event; keeps a copy of some. */
  note(state: HostState): void
  /** The last one at or before the event with this number. */
  before(seq: number): HostState
}

export function createCheckpoints(interval = firstInterval, limit = checkpointsLimit): Checkpoints {
  let kept: HostState[] = [initialState()]
  let distance = interval
  return {
    note(state) {
      if (state.seq % distance !== 0) return
      kept.push({ ...state, plugins: new Map(state.plugins) })
      if (kept.length <= limit) return
      kept = kept.filter((_, position) => position % 2 === 0)
      distance *= 2
    },
    before: (seq) => kept.findLast((state) => state.seq <= seq) ?? initialState(),
  }
}
