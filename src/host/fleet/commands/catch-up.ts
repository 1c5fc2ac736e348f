import { type Clock, withDeadline } from '../../../base/time/clock.ts'
import { pause } from '../../../base/time/wait.ts'
import type { FleetJournal } from '../../../fleet/journal/fleet-journal.ts'

/** Milliseconds that whoever asks waits for the store to say how far it is, and for its events to come. */
const patience = 2_000
/** Milliseconds from one answer of the store to the next question. */
const rest = 20

/**
 * Takes in what other hosts had written down when it was called. Whoever asks for names that nobody has must not load the store:
 * there is one question at a time, which is that of all who have called before it is asked. Answers whether that is so.
 */
export function createCatchUp(parts: {
  journal: Pick<FleetJournal, 'catchUp'>
  clock: Clock
  /** Whether the store can be heard. */
  maySpeak(): boolean
}): () => Promise<boolean> {
  const { journal, clock, maySpeak } = parts
  let current = Promise.resolve(true)
  let answeredAt = -Infinity
  let next: Promise<boolean> | undefined

  const inTime = (answer: Promise<unknown>): Promise<boolean> =>
    withDeadline(clock, patience, answer, () => new Error('late')).then(
      () => true,
      () => false,
    )

  async function ask(): Promise<boolean> {
    await current
    const early = answeredAt + rest - clock.monotonic()
    if (early > 0) await pause(clock, early)
    // What has been written since this question is another one's.
    next = undefined
    current = inTime(journal.catchUp())
    const isKnown = await current
    answeredAt = clock.monotonic()
    return isKnown
  }

  return async () => {
    // Nobody here knows any more then.
    if (!maySpeak()) return false
    const answer = (next ??= ask())
    return (await inTime(answer)) && (await answer)
  }
}
