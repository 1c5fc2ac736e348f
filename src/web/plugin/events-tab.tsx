import { useMemo, useState } from 'preact/hooks'
import type { Plugin } from '../base/types.ts'
import { momentOf, valueText } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { Empty } from '../parts/feedback.tsx'
import { LineList } from '../parts/lists/line-list.tsx'
import { PauseButton } from '../parts/lists/pause-button.tsx'
import { fitting, SearchBox, searchedText } from '../parts/lists/search-box.tsx'
import { type Gap, gaps, useEmittedEvents } from '../store/emitted-events.ts'
import type { EmittedEvent } from '../store/kept-events.ts'

export function EventsTab({ plugin }: { plugin: Plugin }) {
  const [paused, setPaused] = useState(false)
  const wanted = searchedText()
  const { events, waiting } = useEmittedEvents(plugin.id, paused)
  const shown = useMemo(
    () => fitting(events, wanted, ({ name, data }) => `${name} ${valueText(data)}`),
    [events, wanted],
  )
  const declared = plugin.exports.events ?? []
  return (
    <section class="panel">
      <h2>Events</h2>
      {declared.length === 0 ? null : (
        <p class="hint">
          It says that it emits:{' '}
          {declared
            .map(({ name, description }) => (description === undefined ? name : `${name} (${description})`))
            .join(', ')}
          .
        </p>
      )}
      {gaps.value.length === 0 ? null : (
        <p class="hint">
          This page was not connected {gaps.value.map(betweenWords).join(', ')}: what was emitted then is not
          here.
        </p>
      )}
      <div class="toolbar">
        <SearchBox label="Search the events" found={shown.length} />
        <PauseButton paused={paused} waiting={waiting} onChange={setPaused} />
      </div>
      {shown.length > 0 ? null : (
        <Empty>
          {events.length === 0
            ? 'No event has come since this page was opened.'
            : 'No event that has come since this page was opened fits the search.'}
        </Empty>
      )}
      <LineList label="Events, newest first" items={shown} line={(event) => <Line event={event} />} />
    </section>
  )
}

function betweenWords({ from, to }: Gap): string {
  return `from ${momentOf(from)} to ${momentOf(to)}`
}

function Line({ event: { at, name, data } }: { event: EmittedEvent }) {
  return (
    <div class="line">
      <time>{momentOf(at)}</time>
      <strong>{breakable(name)}</strong>
      <code>{breakable(valueText(data))}</code>
    </div>
  )
}
