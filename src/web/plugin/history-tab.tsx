import type { JournalEvent, Plugin } from '../base/types.ts'
import { EventList } from '../parts/lists/event-list.tsx'
import { ReadState } from '../parts/feedback.tsx'
import { MissingEvents } from '../parts/lists/missing-events.tsx'
import { usePluginHistory } from '../store/plugin-history.ts'
import { useSettingChanges } from '../store/setting-changes.ts'

const none: readonly JournalEvent[] = []

export function HistoryTab({ plugin }: { plugin: Plugin }) {
  const history = usePluginHistory(plugin.id)
  const events = history.value ?? none
  const changes = useSettingChanges(events)
  const hadMore = history.value !== undefined && history.value[0]?.revision !== 1
  return (
    <section class="panel">
      <h2>History</h2>
      <ReadState remote={history} what="the history" />
      <EventList events={events} changes={changes} withPlugin={false} />
      {hadMore ? <MissingEvents /> : null}
    </section>
  )
}
