import { useEffect, useState } from 'preact/hooks'
import { get, pluginApi, wordsOf } from '../base/api.ts'
import { onAnnouncements } from '../base/stream.ts'
import type { JournalEvent } from '../base/types.ts'
import { journal, journalReadings } from './journal.ts'
import type { Remote } from './remote.ts'

/** All that has happened to one plugin, however long ago: the journal of the page begins later. */

/** Most events that are kept of one plugin: the newest. */
export const pluginHistoryLimit = 10_000

/**
 * Oldest first, with those that come. Of no plugin where the id is empty. A break needs no other reading, as the stream resumes,
 * but that of a host with another journal.
 */
export function usePluginHistory(id: string): Omit<Remote<readonly JournalEvent[]>, 'set'> {
  const [events, setEvents] = useState<readonly JournalEvent[]>([])
  const [isRead, setRead] = useState(false)
  const [error, setError] = useState('')
  const [round, setRound] = useState(0)
  const reading = journalReadings.value
  useEffect(() => {
    setEvents([])
    setRead(false)
    setError('')
    if (id === '') return undefined
    const abort = new AbortController()
    const add = (more: readonly JournalEvent[]): void => setEvents((before) => merged(before, more))
    readNewest(id, abort.signal).then(
      (all) => {
        add(all)
        setRead(true)
      },
      (reason: unknown) => {
        if (!abort.signal.aborted) setError(wordsOf(reason))
      },
    )
    const stop = onAnnouncements({ kinds: ['lifecycle'], plugin: id }, (announcements) =>
      add(announcements.map(({ event }) => event)),
    )
    return () => {
      abort.abort()
      stop()
    }
  }, [id, round, reading])
  return { value: isRead ? events : undefined, error, reload: () => setRound((before) => before + 1) }
}

/** All of them, or of very many the newest: those in between are megabytes that nobody would see. */
async function readNewest(id: string, abort: AbortSignal): Promise<readonly JournalEvent[]> {
  const oldest = await readPage(id, 0, abort)
  const reached = oldest.at(-1)?.seq ?? 0
  const [next] = await readPage(id, reached, abort, 1)
  if (next === undefined) return oldest
  // So many events of the journal had a page of this plugin's at first; it may have become a little quieter, or much.
  for (let span = Math.ceil(reached * 1.25); ; span *= 2) {
    const after = journal.peek().lastSeq - span
    if (after <= reached)
      return [...oldest, ...(await readAfter(id, reached, abort))].slice(-pluginHistoryLimit)
    const newest = await readAfter(id, after, abort)
    if (newest.length === pluginHistoryLimit) return newest
  }
}

/** The newest of those after an event. */
async function readAfter(id: string, seq: number, abort: AbortSignal): Promise<readonly JournalEvent[]> {
  let all: readonly JournalEvent[] = []
  for (;;) {
    const events = await readPage(id, all.at(-1)?.seq ?? seq, abort)
    if (events.length === 0) return all
    all = [...all, ...events].slice(-pluginHistoryLimit)
  }
}

async function readPage(
  id: string,
  after: number,
  abort: AbortSignal,
  limit = pluginHistoryLimit,
): Promise<readonly JournalEvent[]> {
  const address = pluginApi(id, `/history?after=${after}&limit=${limit}`)
  const { events } = await get<{ events: JournalEvent[] }>(address, abort)
  abort.throwIfAborted()
  return events
}

/** What has come by the stream may have been read as well. */
function merged(before: readonly JournalEvent[], more: readonly JournalEvent[]): readonly JournalEvent[] {
  const known = new Set(before.map(({ seq }) => seq))
  const fresh = more.filter(({ seq }) => !known.has(seq))
  if (fresh.length === 0) return before
  return [...before, ...fresh].sort((one, other) => one.seq - other.seq).slice(-pluginHistoryLimit)
}
