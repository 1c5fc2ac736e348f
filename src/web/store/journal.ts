import { batch, signal } from '@preact/signals'
import { request } from '../base/api.ts'
import { onAnnouncements } from '../base/stream.ts'
import type { JournalEvent } from '../base/types.ts'

/** The part of the journal that has been read so far; it grows backwards on demand. */

/** How many events are read at a time. */
export const pageSize = 300
/** Most events that are kept in the page where nobody has read on backwards: more than anybody scrolls through. */
const keptLimit = 20_000
/** So many may come to what somebody has read on to before the oldest of it go. */
const readSlack = 5_000
let mostKept = keptLimit

export interface Journal {
  /** Oldest first, without gaps. */
  events: readonly JournalEvent[]
  /** Number of the first event that the host has: files of older ones may have been moved away. */
  firstSeq: number
  lastSeq: number
}

/** How often the list of repositories has changed since this page was opened. */
export const repositoryChanges = signal(0)

/** How often it has been read anew since it was known: what is known of the past may be of another one then. */
export const journalReadings = signal(0)

export const journal = signal<Journal>({ events: [], firstSeq: 1, lastSeq: 0 })

/** Reads the newest page. Answers the number of the last event. */
export async function loadJournal(): Promise<number> {
  const { headers } = await request('GET', '/api/history?limit=1')
  const lastSeq = Number(headers.get('last-seq') ?? 0)
  const events = await readEvents(Math.max(0, lastSeq - pageSize), pageSize)
  const firstSeq = Number(headers.get('first-seq') ?? 1)
  batch(() => {
    if (journal.peek().lastSeq > 0) journalReadings.value += 1
    journal.value = { events, firstSeq, lastSeq: events.at(-1)?.seq ?? lastSeq }
  })
  mostKept = keptLimit
  return journal.value.lastSeq
}

/** Whether the host still has the last event that is known: one that was brought back from a backup has others under its numbers. */
export async function isSameJournal(): Promise<boolean> {
  const known = journal.peek().events.at(-1)
  if (known === undefined) return true
  const [present] = await readEvents(known.seq - 1, 1)
  return present?.id === known.id
}

/** Reads on backwards until `seq` is there. */
export async function reachBack(seq: number): Promise<void> {
  for (;;) {
    const { events, firstSeq, lastSeq } = journal.peek()
    const first = events[0]?.seq ?? lastSeq + 1
    if (seq >= first || first <= firstSeq) return
    const from = Math.max(0, Math.min(seq - 1, first - 1 - pageSize))
    // Where older ones were moved away meanwhile, the answer begins later.
    const older = (await readEvents(from, first - 1 - from)).filter((event) => event.seq < first)
    const now = journal.peek()
    if (now.events[0]?.seq !== first) continue
    journal.value = {
      events: [...older, ...now.events],
      firstSeq: older.length === 0 ? first : firstSeq,
      lastSeq: now.lastSeq,
    }
    mostKept = Math.max(keptLimit, journal.value.events.length + readSlack)
  }
}

/**
 * Reads on backwards until a start or stop of the host before `seq` is there; not for ever, as a host runs for months,
 * and its plugins have many events.
 */
export async function reachHost(seq: number): Promise<void> {
  for (;;) {
    const { events, firstSeq } = journal.peek()
    const first = events[0]?.seq ?? 1
    if (first <= firstSeq || events.length > keptLimit / 2) return
    if (events.some((event) => event.type.startsWith('Host') && event.seq <= seq)) return
    await reachBack(first - 1)
  }
}

/** An answer may have fewer events than asked for, when they are large: the rest comes with the next one. */
export async function readEvents(after: number, limit: number): Promise<JournalEvent[]> {
  const all: JournalEvent[] = []
  while (all.length < limit) {
    const address = `/api/history?after=${all.at(-1)?.seq ?? after}&limit=${limit - all.length}`
    const { events } = (await request<{ events: JournalEvent[] }>('GET', address)).body
    if (events.length === 0) break
    all.push(...events)
  }
  return all
}

export function followJournal(): void {
  onAnnouncements({ kinds: ['lifecycle'] }, (announcements) => {
    const { events, firstSeq, lastSeq } = journal.peek()
    if (announcements.some(({ event }) => /^Repository(Added|Removed)$/.test(event.type)))
      repositoryChanges.value += 1
    const fresh = announcements.map(({ event }) => event).filter(({ seq }) => seq > lastSeq)
    if (fresh.length === 0) return
    const all = [...events, ...fresh]
    journal.value = { events: all.slice(-mostKept), firstSeq, lastSeq: all.at(-1)?.seq ?? lastSeq }
  })
}
