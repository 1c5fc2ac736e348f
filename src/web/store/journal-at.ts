import { useEffect, useMemo, useState } from 'preact/hooks'
import { get } from '../base/api.ts'
import type { JournalEvent, PluginStateAt } from '../base/types.ts'
import { journal, journalReadings, readEvents } from './journal.ts'
import { tellFailure } from './notices.ts'

/** What happened up to a moment of the journal, and how things stood then. */

/** Rest of the hand on the scrubber after which the host is asked, in milliseconds. */
const scrubPause = 40

/** Asks when the hand rests, and tells of a failure, with which nothing is taken. Returns the way to stop. */
function askAtRest<T>(
  ask: (abort: AbortSignal) => Promise<T>,
  take: (answer: T | undefined) => void,
): () => void {
  const abort = new AbortController()
  const timer = setTimeout(() => {
    ask(abort.signal).then(
      (answer) => {
        if (!abort.signal.aborted) take(answer)
      },
      (error: unknown) => {
        if (abort.signal.aborted) return
        take(undefined)
        tellFailure(error)
      },
    )
  }, scrubPause)
  return () => {
    clearTimeout(timer)
    abort.abort()
  }
}

const none: readonly JournalEvent[] = []

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
    return askAtRest(
      () => readEvents(from - 1, seq - from + reach),
      (read) => setPast((before) => read ?? before),
    )
  }, [isRecent, isRead, from, seq])
  return useMemo(() => (isRecent ? events : isRead ? past : none), [isRecent, isRead, events, past])
}

function covers(events: readonly JournalEvent[], from: number, to: number): boolean {
  const [first, last] = [events[0]?.seq, events.at(-1)?.seq]
  return first !== undefined && last !== undefined && first <= from && to <= last
}

type States = readonly PluginStateAt[]

const statesKnown = new Map<number, States>()
/** Of which reading of the journal they are. */
let readingKnown = 0
/** Most moments that are kept. */
const statesLimit = 500

/**
 * How things stood after an event; the answers are kept, as the past does not change. Undefined: not known; of event 0 nothing is.
 * `at`: after which event; while that which is wanted is being read, it is the one before.
 */
export function useStatesAt(wanted: number): { states: States | undefined; at: number } {
  const [known, setKnown] = useState<{ states: States | undefined; at: number }>({ states: undefined, at: 0 })
  const reading = journalReadings.value
  useEffect(() => {
    if (reading !== readingKnown) statesKnown.clear()
    readingKnown = reading
    const kept = statesKnown.get(wanted)
    if (wanted < 1 || kept !== undefined) {
      setKnown({ states: kept, at: wanted })
      return undefined
    }
    return askAtRest(
      (abort) => get<{ plugins: States }>(`/api/history/${wanted}/state`, abort),
      (answer) => {
        if (statesKnown.size > statesLimit) statesKnown.clear()
        if (answer !== undefined) statesKnown.set(wanted, answer.plugins)
        setKnown({ states: answer?.plugins, at: wanted })
      },
    )
  }, [wanted, reading])
  return known
}
