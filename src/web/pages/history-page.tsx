import { useMemo, useState } from 'preact/hooks'
import { detailOf } from '../base/event-detail.ts'
import { place, setQuery } from '../base/router.ts'
import type { JournalEvent } from '../base/types.ts'
import { countOf, eventInWords, originInWords } from '../base/words.ts'
import { EventList } from '../parts/event-list.tsx'
import { Empty, Loading } from '../parts/feedback.tsx'
import { Page } from '../parts/page.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { Select } from '../parts/select.tsx'
import { journal, pageSize, reachBack } from '../store/journal.ts'
import { tellFailure } from '../store/notices.ts'

const origins = ['http', 'mqtt', 'supervisor', 'startup', 'shutdown', 'file']

export function HistoryPage() {
  const { events, lastSeq } = journal.value
  const { query } = place.value
  const wanted = query.get('q') ?? ''
  const by = query.get('by') ?? ''
  const [reading, setReading] = useState(false)
  const shown = useMemo(() => filtered(events, wanted, by), [events, wanted, by])
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
        <Select
          label="Who asked"
          value={by}
          options={[
            ['', 'Whoever asked'],
            ...origins.map((origin) => [origin, originInWords(origin)] as const),
          ]}
          onChange={(origin) => setQuery({ by: origin })}
        />
      </div>
      {lastSeq === 0 ? <Loading what="the history" /> : null}
      {lastSeq > 0 && shown.length === 0 ? <Empty>No event fits the search.</Empty> : null}
      <EventList events={shown} withPlugin />
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

function filtered(events: readonly JournalEvent[], wanted: string, by: string): JournalEvent[] {
  const text = wanted.trim().toLowerCase()
  return events.filter(
    (event) => (by === '' || event.by === by) && (text === '' || searchedText(event).includes(text)),
  )
}
