import type { Clock } from '../../../base/time/clock.ts'
import { waitUntil } from '../../../base/time/wait.ts'
import type { Journal } from '../../../journal/journal.ts'

/** Milliseconds until what another host has written is here, too. */
const followWait = 1_000

/** Resolves when the fold has that event, or after a moment: what is read here next is to show it. */
export async function reachEvent(
  journal: Pick<Journal, 'live' | 'subscribe'>,
  clock: Clock,
  seq: number,
): Promise<void> {
  await waitUntil(clock, followWait, () => journal.live.seq >= seq, journal.subscribe)
}
