import type { Plugin } from '../base/types.ts'
import { EventLine } from '../parts/event-line.tsx'
import { ReadState } from '../parts/feedback.tsx'
import { useGrowing } from '../parts/growing.tsx'
import { usePluginHistory } from '../store/plugin-history.ts'

export function HistoryTab({ plugin }: { plugin: Plugin }) {
  const history = usePluginHistory(plugin.id)
  const events = history.value ?? []
  const growing = useGrowing(events.length, 60)
  return (
    <section class="panel">
      <h2>History</h2>
      <ReadState remote={history} what="the history" />
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
