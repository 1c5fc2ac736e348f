import type { JournalEvent } from '../base/types.ts'
import { useRef } from 'preact/hooks'
import { detailOf } from '../base/event-detail.ts'
import { absenceInWords } from '../base/fleet-words.ts'
import { eventInWords, originInWords } from '../base/words.ts'
import { breakable } from '../parts/breakable.tsx'
import { PluginChip, StateChip } from '../parts/state-chip.tsx'
import { isInFleet } from '../store/host.ts'
import { plugins, withoutHost } from '../store/plugins.ts'
import { PossibleEvents } from './possible-events.tsx'

interface MomentPanelProps {
  /** `host`, the id of a plugin, or empty: all plugins. */
  subject: string
  /** The moment that is looked at; undefined: now. */
  seq: number | undefined
  /** The event of that moment, whatever it is about. */
  event: JournalEvent | undefined
  /** The last one until then that is about the subject. */
  latest: JournalEvent | undefined
  /** Which settings an event has changed, by its number. */
  changes: ReadonlyMap<number, string>
  state: string | undefined
  /** Why it was not running then; empty when it was. */
  error: string
  onNow(): void
}

/** The state at a moment, why it changed, who asked, and what may come next. */
export function MomentPanel({ subject, seq, event, latest, changes, state, error, onNow }: MomentPanelProps) {
  const isPlugin = subject !== '' && subject !== 'host'
  const absent = isPlugin && seq === undefined ? withoutHost(subject) : undefined
  const heading = useRef<HTMLHeadingElement>(null)

  /** What was pressed is gone then: the keyboard goes on where it stood. */
  function backToNow(): void {
    onNow()
    heading.current?.focus({ preventScroll: true })
  }

  return (
    <section class="panel moment-panel">
      <h2 ref={heading} tabIndex={-1}>
        {seq === undefined ? 'Now' : `At event ${seq}`}
      </h2>
      <div class="moment-words" role="status">
        {event === undefined || seq === undefined ? null : <Why event={event} changes={changes} />}
        {state === undefined ? null : (
          <p>
            {isPlugin ? breakable(subject) : 'The host'}:{' '}
            {absent === undefined ? <StateChip state={state} /> : <PluginChip plugin={absent} />}
          </p>
        )}
        {absent === undefined ? null : (
          <p class="hint">{absenceInWords(absent)} The machine shows the state from which it goes on then.</p>
        )}
        {error === '' ? null : <p class="row-error">{breakable(error)}</p>}
        {isPlugin && latest !== undefined && latest.seq !== seq ? (
          <Why event={latest} changes={changes} latest />
        ) : null}
      </div>
      {subject === '' ? <p class="hint">Choose a plugin to see what it may do.</p> : null}
      {subject === 'host' && isInFleet.value ? (
        <p class="hint">A fleet has several hosts: the page Hosts shows which are there.</p>
      ) : null}
      {isPlugin ? <Now plugin={subject} past={seq !== undefined} onNow={backToNow} /> : null}
    </section>
  )
}

/** What may be done; in the past nothing can be. */
function Now({ plugin, past, onNow }: { plugin: string; past: boolean; onNow(): void }) {
  const present = plugins.value?.get(plugin)
  if (past) {
    return (
      <p class="hint">
        You are looking at the past; nothing on the host changes.{' '}
        <button type="button" class="quiet" onClick={onNow}>
          Back to now
        </button>
      </p>
    )
  }
  return present === undefined ? (
    <p class="hint">It is not installed now.</p>
  ) : (
    <PossibleEvents plugin={present} />
  )
}

interface WhyProps {
  event: JournalEvent
  changes: MomentPanelProps['changes']
  latest?: boolean
}

function Why({ event, changes, latest = false }: WhyProps) {
  const detail = changes.get(event.seq) ?? detailOf(event)
  return (
    <p>
      {latest ? 'Last: ' : ''}
      <strong>{eventInWords(event.type)}</strong> {breakable(event.plugin ?? '')} <code>{event.type}</code>
      {detail === '' ? '' : breakable(`, ${detail}`)}. Asked for {originInWords(event.by)}.
    </p>
  )
}
