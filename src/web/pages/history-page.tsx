import { getOrInsert } from '../../base/get-or-insert.ts'
import { useMemo, useState } from 'preact/hooks'
import { detailOf } from '../base/event-detail.ts'
import { place, setQuery } from '../base/router.ts'
import type { JournalEvent } from '../base/types.ts'
import { countOf, eventInWords, originInWords } from '../base/words.ts'
import { EventList } from '../parts/lists/event-list.tsx'
import { Empty, Loading } from '../parts/feedback.tsx'
import { MissingEvents } from '../parts/lists/missing-events.tsx'
import { Page } from '../parts/frame/page.tsx'
import { fitting, SearchBox, searchedText } from '../parts/lists/search-box.tsx'
import { Select } from '../parts/inputs/select.tsx'
import { journal, pageSize, reachBack } from '../store/journal.ts'
import { tellFailure } from '../store/notices.ts'
import { settingChanges, useSettingChanges } from '../store/setting-changes.ts'

/** How many pages are read at most in search of one event. */
const pagesAtOnce = 20

const origins = ['http', 'mqtt', 'supervisor', 'startup', 'shutdown', 'file']

export function HistoryPage() {
  const { events, firstSeq, lastSeq } = journal.value
  const { query } = place.value
  const wanted = searchedText()
  const by = query.get('by') ?? ''
  const [reading, setReading] = useState(false)
  const changes = useSettingChanges(events)
  const shown = useMemo(() => filtered(events, changes, wanted, by), [events, changes, wanted, by])
  const first = events[0]?.seq ?? 1

  async function readOlder(): Promise<void> {
    setReading(true)
    await readOlderThatFit(wanted, by).catch(tellFailure)
    setReading(false)
  }

  return (
    <Page title="History" count={lastSeq > 0 && countOf(lastSeq - firstSeq + 1, 'event')}>
      <div class="toolbar">
        <SearchBox label="Search the history" found={lastSeq === 0 ? undefined : shown.length} />
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
      {lastSeq > 0 && shown.length === 0 ? (
        <Empty>
          {first > firstSeq
            ? `None of the newest ${events.length} events fits the search; ${first - firstSeq} older ones have not been read yet.`
            : 'No event fits the search.'}
        </Empty>
      ) : null}
      <EventList events={shown} changes={changes} withPlugin />
      {first > firstSeq ? (
        <button type="button" disabled={reading} onClick={() => void readOlder()}>
          {reading ? 'Reading older events…' : `Read older events (${first - firstSeq} more)`}
        </button>
      ) : (
        <MissingEvents />
      )}
    </Page>
  )
}

/** Reads a page back; where something is searched, as many as it takes until an event fits. */
async function readOlderThatFit(wanted: string, by: string): Promise<void> {
  for (let page = 0; page < pagesAtOnce; page += 1) {
    const { events: before, firstSeq } = journal.peek()
    const first = before[0]?.seq ?? 1
    if (first <= firstSeq) return
    await reachBack(Math.max(1, first - pageSize))
    const { events } = journal.peek()
    const older = events.slice(
      0,
      events.findIndex(({ seq }) => seq === first),
    )
    if (older.length === 0 || filtered(older, settingChanges(events), wanted, by).length > 0) return
  }
}

/** What of an event is searched; made once for each, as there are thousands. */
const texts = new WeakMap<JournalEvent, string>()

function textOf(event: JournalEvent): string {
  const { seq, type, plugin, state } = event
  return getOrInsert(
    texts,
    event,
    () => `#${seq} ${type} ${eventInWords(type)} ${plugin ?? ''} ${state} ${detailOf(event)}`,
  )
}

function filtered(
  events: readonly JournalEvent[],
  changes: ReadonlyMap<number, string>,
  wanted: string,
  by: string,
): readonly JournalEvent[] {
  const chosen = events.filter((event) => by === '' || event.by === by)
  return fitting(chosen, wanted, (event) => `${textOf(event)}\n${changes.get(event.seq) ?? ''}`)
}
