import type { Clock } from '../../../base/time/clock.ts'
import { pause, waitAtMost } from '../../../base/time/wait.ts'
import type { FleetJournal } from '../../../fleet/journal/fleet-journal.ts'

/** Milliseconds that whoever asks waits for the store to say how far it is, and for its events to come. */
const patience = 2_000
/** Milliseconds from one answer of the store to the next question. */
const rest = 20

/**
 * Takes in what other hosts had written down when it was called. Whoever asks for names that nobody has must not load the store:
 * there is one question at a time, which is that of all who have called before it is asked.
 */
export function createCatchUp(parts: {
  journal: Pick<FleetJournal, 'catchUp'>
  clock: Clock
  /** Whether the store can be heard. */
  maySpeak(): boolean
}): () => Promise<void> {
  const { journal, clock, maySpeak } = parts
  let current = Promise.resolve()
  let answeredAt = -Infinity
  let next: Promise<void> | undefined

  async function ask(): Promise<void> {
    await current
    const early = answeredAt + rest - clock.monotonic()
    if (early > 0) await pause(clock, early)
    // What has been written since this question is another one's.
    next = undefined
    current = waitAtMost(clock, patience, journal.catchUp())
    await current
    answeredAt = clock.monotonic()
  }

  return async () => {
    // Nobody here knows any more then.
    if (maySpeak()) await waitAtMost(clock, patience, (next ??= ask()))
  }
}
