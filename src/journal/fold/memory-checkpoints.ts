import type { HostState } from './evolve.ts'

/** Events from one checkpoint to the next, at first. */
const firstInterval = 1_000
/** Checkpoints that are kept: each may hold a state of every plugin, some kilobytes apiece. */
const checkpointsLimit = 256

/**
 * States that are kept in memory (not those of `.host.checkpoint`), so that the state at an event is some thousand events away at most.
 * When there are too many, every other one goes and those to come are twice as far apart: memory has a bound however long the journal is.
 */
export interface MemoryCheckpoints {
  /** Whether the state after this event is one to keep. */
  wants(seq: number): boolean
  note(state: HostState): void
  /** The last one at or before the event with this number. */
  before(seq: number): HostState | undefined
}

export function createMemoryCheckpoints(
  interval = firstInterval,
  limit = checkpointsLimit,
): MemoryCheckpoints {
  /** In order. */
  let kept: HostState[] = []
  let distance = interval
  return {
    wants: (seq) => seq % distance === 0,
    note(state) {
      const place = kept.findLastIndex(({ seq }) => seq <= state.seq)
      if (kept[place]?.seq === state.seq) return
      kept.splice(place + 1, 0, state)
      if (kept.length <= limit) return
      distance *= 2
      kept = kept.filter(({ seq }) => seq % distance === 0)
    },
    before: (seq) => kept.findLast((state) => state.seq <= seq),
  }
}
