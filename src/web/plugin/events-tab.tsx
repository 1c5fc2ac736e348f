import { useState } from 'preact/hooks'
import type { Plugin } from '../base/types.ts'
import { timeOf, valueText } from '../base/words.ts'
import { Empty } from '../parts/feedback.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { type EmittedEvent, useEmittedEvents } from '../store/live.ts'

export function EventsTab({ plugin }: { plugin: Plugin }) {
  const [paused, setPaused] = useState(false)
  const [wanted, setWanted] = useState('')
  const events = useEmittedEvents(plugin.id, paused)
  const text = wanted.trim().toLowerCase()
  const shown = events
    .filter(({ name, data }) => text === '' || `${name} ${valueText(data)}`.toLowerCase().includes(text))
    .slice(-100)
    .reverse()
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
      <div class="toolbar">
        <SearchBox label="Search the events" value={wanted} onInput={setWanted} />
        <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? 'Go on' : 'Pause'}
        </button>
      </div>
      {shown.length === 0 ? <Empty>No event has come since this page was opened.</Empty> : null}
      <ul class="lines" aria-label="Events, newest first">
        {shown.map((event) => (
          <Line key={event.key} event={event} />
        ))}
      </ul>
    </section>
  )
}

/** By itself, so that a new event does not draw the others again. */
function Line({ event: { at, name, data } }: { event: EmittedEvent }) {
  return (
    <li class="line">
      <time>{timeOf(at)}</time>
      <strong>{name}</strong>
      <code>{valueText(data)}</code>
    </li>
  )
}
