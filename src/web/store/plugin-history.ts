import { useEffect, useState } from 'preact/hooks'
import { get, pluginApi, wordsOf } from '../base/api.ts'
import { onAnnouncements } from '../base/stream.ts'
import type { JournalEvent } from '../base/types.ts'
import { journalReadings } from './journal.ts'
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
    readAll(id, abort.signal).then(
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

async function readAll(id: string, abort: AbortSignal): Promise<readonly JournalEvent[]> {
  let all: readonly JournalEvent[] = []
  for (;;) {
    const address = pluginApi(id, `/history?after=${all.at(-1)?.seq ?? 0}&limit=${pluginHistoryLimit}`)
    const { events } = await get<{ events: JournalEvent[] }>(address, abort)
    abort.throwIfAborted()
    if (events.length === 0) return all
    all = [...all, ...events].slice(-pluginHistoryLimit)
  }
}

/** What has come by the stream may have been read as well. */
function merged(before: readonly JournalEvent[], more: readonly JournalEvent[]): readonly JournalEvent[] {
  const known = new Set(before.map(({ seq }) => seq))
  const fresh = more.filter(({ seq }) => !known.has(seq))
  if (fresh.length === 0) return before
  return [...before, ...fresh].sort((one, other) => one.seq - other.seq).slice(-pluginHistoryLimit)
}
