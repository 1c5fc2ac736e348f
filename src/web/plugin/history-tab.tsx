import type { Plugin } from '../base/types.ts'
import { EventList } from '../parts/event-list.tsx'
import { ReadState } from '../parts/feedback.tsx'
import { usePluginHistory } from '../store/plugin-history.ts'

export function HistoryTab({ plugin }: { plugin: Plugin }) {
  const history = usePluginHistory(plugin.id)
  return (
    <section class="panel">
      <h2>History</h2>
      <ReadState remote={history} what="the history" />
      <EventList events={history.value ?? []} withPlugin={false} />
    </section>
  )
}
