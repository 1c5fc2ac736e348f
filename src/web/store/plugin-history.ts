import { useEffect, useState } from 'preact/hooks'
import { get, pluginApi, wordsOf } from '../base/api.ts'
import { onAnnouncements } from '../base/stream.ts'
import type { JournalEvent } from '../base/types.ts'

/** All that has happened to one plugin, however long ago: the journal of the page begins later. */

/** Most events that are kept of one plugin: the newest. */
const keptLimit = 10_000

/** Oldest first, with those that come. Of no plugin where the id is empty. */
export function usePluginHistory(id: string): { events: readonly JournalEvent[]; error: string } {
  const [events, setEvents] = useState<readonly JournalEvent[]>([])
  const [error, setError] = useState('')
  useEffect(() => {
    setEvents([])
    setError('')
    if (id === '') return undefined
    const abort = new AbortController()
    const add = (more: readonly JournalEvent[]): void => setEvents((before) => merged(before, more))
    readAll(id, abort.signal).then(add, (reason: unknown) => {
      if (!abort.signal.aborted) setError(wordsOf(reason))
    })
    const stop = onAnnouncements({ kinds: ['lifecycle'], plugin: id }, (announcements) =>
      add(announcements.map(({ event }) => event)),
    )
    return () => {
      abort.abort()
      stop()
    }
  }, [id])
  return { events, error }
}

async function readAll(id: string, abort: AbortSignal): Promise<readonly JournalEvent[]> {
  let all: readonly JournalEvent[] = []
  for (;;) {
    const address = pluginApi(id, `/history?after=${all.at(-1)?.seq ?? 0}&limit=${keptLimit}`)
    const { events } = await get<{ events: JournalEvent[] }>(address, abort)
    abort.throwIfAborted()
    if (events.length === 0) return all
    all = [...all, ...events].slice(-keptLimit)
  }
}

/** What has come by the stream may have been read as well. */
function merged(before: readonly JournalEvent[], more: readonly JournalEvent[]): readonly JournalEvent[] {
  const known = new Set(before.map(({ seq }) => seq))
  const fresh = more.filter(({ seq }) => !known.has(seq))
  if (fresh.length === 0) return before
  return [...before, ...fresh].sort((one, other) => one.seq - other.seq).slice(-keptLimit)
}
