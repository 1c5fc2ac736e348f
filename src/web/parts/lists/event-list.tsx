import { detailOf } from '../../base/event-detail.ts'
import { dateTimeOf, eventInWords, originInWords } from '../../base/words.ts'
import type { JournalEvent } from '../../base/types.ts'
import { isInFleet } from '../../store/host.ts'
import { breakable } from '../breakable.tsx'
import { InfiniteList } from './infinite-scroll.tsx'
import { StateChip } from '../state-chip.tsx'
import { Link } from '../link.tsx'

interface EventListProps {
  /** Oldest first; the list shows the newest first. */
  events: readonly JournalEvent[]
  /** Which settings each has changed, by its number. */
  changes: ReadonlyMap<number, string>
  withPlugin: boolean
}

/** A part of the journal. */
export function EventList({ events, changes, withPlugin }: EventListProps) {
  return (
    <InfiniteList class="event-list" label="Events, newest first" items={events.toReversed()} step={60}>
      {(event) => (
        <EventLine
          key={event.seq}
          event={event}
          detail={changes.get(event.seq) ?? detailOf(event)}
          withPlugin={withPlugin}
        />
      )}
    </InfiniteList>
  )
}

interface EventLineProps {
  event: JournalEvent
  /** Empty: nothing came with it. */
  detail: string
  withPlugin: boolean
}

/** With the way to the picture of that moment. Of a fleet, of which some hosts are there and others not, no state is shown. */
function EventLine({ event, detail, withPlugin }: EventLineProps) {
  const { seq, plugin, type, by, at, state, host } = event
  const machine =
    plugin === null ? `/machines/host?seq=${seq}` : `/machines/plugin-lifecycle?plugin=${plugin}&seq=${seq}`
  return (
    <li class="event-line">
      <Link to={machine} aria-label={`Event ${seq}: ${eventInWords(type)}. Show that moment`}>
        #{seq}
      </Link>
      <span class="event-what">
        <strong>{eventInWords(type)}</strong>
        {withPlugin && plugin !== null ? <span class="id">{breakable(plugin)}</span> : null}
        {detail === '' ? null : <span class="detail">{breakable(detail)}</span>}
      </span>
      {plugin === null && isInFleet.value ? <span /> : <StateChip state={state} />}
      <span class="event-when">
        <time dateTime={at}>{dateTimeOf(at)}</time>, {originInWords(by)}
        {host === null ? null : breakable(`, on ${host}`)}
      </span>
    </li>
  )
}
