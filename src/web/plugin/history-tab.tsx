import { useEffect, useState } from 'preact/hooks'
import { onAnnouncements } from '../base/stream.ts'
import { wordsOf } from '../base/api.ts'
import type { JournalEvent, Plugin } from '../base/types.ts'
import { EventLine } from '../parts/event-line.tsx'
import { Failure } from '../parts/feedback.tsx'
import { useGrowing } from '../parts/growing.tsx'
import { pluginHistory } from '../store/journal.ts'

export function HistoryTab({ plugin }: { plugin: Plugin }) {
  const { id } = plugin
  const [events, setEvents] = useState<readonly JournalEvent[]>([])
  const [error, setError] = useState('')
  useEffect(() => {
    pluginHistory(id).then(setEvents, (reason: unknown) => setError(wordsOf(reason)))
    return onAnnouncements((announcements) => {
      const own = announcements.flatMap((announcement) =>
        announcement.kind === 'lifecycle' && announcement.event.plugin === id ? [announcement.event] : [],
      )
      setEvents((before) => {
        const last = before.at(-1)?.seq ?? 0
        const fresh = own.filter(({ seq }) => seq > last)
        return fresh.length === 0 ? before : [...before, ...fresh]
      })
    })
  }, [id])
  const growing = useGrowing(events.length, 60)
  return (
    <section class="panel">
      <h2>History</h2>
      {error === '' ? null : <Failure text={error} />}
      <ul class="event-list" aria-label="Events, newest first">
        {[...events]
          .reverse()
          .slice(0, growing.shown)
          .map((event) => (
            <EventLine key={event.seq} event={event} withPlugin={false} />
          ))}
      </ul>
      {growing.end}
    </section>
  )
}
