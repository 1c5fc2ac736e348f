import { useEffect, useMemo, useState } from 'preact/hooks'
import type { JournalEvent } from '../base/types.ts'
import { journal, readEvents } from './journal.ts'
import { tellFailure } from './notices.ts'

const none: readonly JournalEvent[] = []
/** Rest of the hand on the scrubber after which the host is asked, in milliseconds. */
const scrubPause = 40

/**
 * What happened up to a moment, and some of what came next: oldest first, without gaps. `reach`: how many events before it. What
 * lies far back is read by itself, as there may be hundreds of thousands of events since. Undefined is now.
 */
export function useEventsAround(seq: number | undefined, reach: number): readonly JournalEvent[] {
  const { events, firstSeq, lastSeq } = journal.value
  const [past, setPast] = useState(none)
  const from = Math.max(firstSeq, (seq ?? lastSeq) - reach)
  const isRecent = seq === undefined || lastSeq === 0 || from >= (events[0]?.seq ?? 1)
  const isRead = !isRecent && covers(past, from, seq)
  useEffect(() => {
    if (isRecent || isRead || seq < firstSeq) return undefined
    let isWanted = true
    const timer = setTimeout(() => {
      readEvents(from - 1, seq - from + reach).then(
        (read) => {
          if (isWanted) setPast(read)
        },
        (error: unknown) => {
          if (isWanted) tellFailure(error)
        },
      )
    }, scrubPause)
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [isRecent, isRead, from, seq])
  return useMemo(() => (isRecent ? events : isRead ? past : none), [isRecent, isRead, events, past])
}

function covers(events: readonly JournalEvent[], from: number, to: number): boolean {
  const [first, last] = [events[0]?.seq, events.at(-1)?.seq]
  return first !== undefined && last !== undefined && first <= from && to <= last
}
