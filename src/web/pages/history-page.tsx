import { useMemo, useState } from 'preact/hooks'
import { place, setQuery } from '../base/router.ts'
import type { JournalEvent } from '../base/types.ts'
import { countOf, detailOf, eventInWords, originInWords } from '../base/words.ts'
import { EventLine } from '../parts/event-line.tsx'
import { Empty, Loading } from '../parts/feedback.tsx'
import { useGrowing } from '../parts/growing.tsx'
import { tellFailure } from '../store/notices.ts'
import { Page } from '../parts/page.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { journal, pageSize, reachBack } from '../store/journal.ts'

export function HistoryPage() {
  const { events, lastSeq } = journal.value
  const { query } = place.value
  const wanted = query.get('q') ?? ''
  const by = query.get('by') ?? ''
  const [reading, setReading] = useState(false)
  const shown = useMemo(() => filtered(events, wanted, by), [events, wanted, by])
  const growing = useGrowing(shown.length, 60)
  const first = events[0]?.seq ?? 1

  async function readOlder(): Promise<void> {
    setReading(true)
    await reachBack(Math.max(1, first - pageSize)).catch(tellFailure)
    setReading(false)
  }

  return (
    <Page
      title="History"
      aside={lastSeq === 0 ? null : <span class="count">{countOf(lastSeq, 'event')}</span>}
    >
      <div class="toolbar">
        <SearchBox label="Search the history" value={wanted} onInput={(q) => setQuery({ q })} />
        <select
          aria-label="Who asked"
          value={by}
          onChange={({ currentTarget }) => setQuery({ by: currentTarget.value })}
        >
          <option value="">Whoever asked</option>
          {['http', 'mqtt', 'supervisor', 'startup', 'shutdown', 'file'].map((origin) => (
            <option key={origin} value={origin}>
              {originInWords(origin)}
            </option>
          ))}
        </select>
      </div>
      {lastSeq === 0 ? <Loading what="the history" /> : null}
      {lastSeq > 0 && shown.length === 0 ? <Empty>No event fits the search.</Empty> : null}
      <ul class="event-list" aria-label="Events, newest first">
        {shown.slice(0, growing.shown).map((event) => (
          <EventLine key={event.seq} event={event} withPlugin />
        ))}
      </ul>
      {growing.end}
      {first > 1 ? (
        <button type="button" disabled={reading} onClick={() => void readOlder()}>
          {reading ? 'Reading older events…' : `Read older events (${first - 1} more)`}
        </button>
      ) : null}
    </Page>
  )
}

/** What of an event is searched; made once for each, as there are thousands. */
const searched = new WeakMap<JournalEvent, string>()

function searchedText(event: JournalEvent): string {
  const known = searched.get(event)
  if (known !== undefined) return known
  const { seq, type, plugin, state } = event
  const text =
    `#${seq} ${type} ${eventInWords(type)} ${plugin ?? ''} ${state} ${detailOf(event)}`.toLowerCase()
  searched.set(event, text)
  return text
}

/** Newest first. */
function filtered(events: readonly JournalEvent[], wanted: string, by: string): JournalEvent[] {
  const text = wanted.trim().toLowerCase()
  return events
    .filter((event) => (by === '' || event.by === by) && (text === '' || searchedText(event).includes(text)))
    .reverse()
}
