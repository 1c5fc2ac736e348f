import { useEffect, useRef } from 'preact/hooks'
import type { JournalEvent } from '../base/types.ts'
import { eventInWords, originInWords, timeOf } from '../base/words.ts'

/** Most columns beside those that ask: more would be too narrow to read. */
const columnLimit = 6

interface SequenceProps {
  /** Oldest first. */
  events: readonly JournalEvent[]
  seq: number
  onChoose(seq: number): void
}

/** Who asked whom for what, from the top to the bottom; every line leads to its moment. */
export function Sequence({ events, seq, onChoose }: SequenceProps) {
  const list = useRef<HTMLOListElement>(null)
  const askers = [...new Set(events.map(({ by }) => by))]
  const targets = [...new Set(events.map(({ plugin }) => plugin ?? 'host'))]
  const shownTargets =
    targets.length > columnLimit ? [...targets.slice(0, columnLimit - 1), 'others'] : targets
  const columns = [...askers, ...shownTargets]
  const template = `repeat(${columns.length}, minmax(5.5rem, 1fr))`
  const columnOf = (event: JournalEvent): number => {
    const index = columns.indexOf(event.plugin ?? 'host', askers.length)
    return index === -1 ? columns.length - 1 : index
  }

  useEffect(() => {
    const element = list.current
    const line = element?.querySelector<HTMLElement>('[aria-current]')
    if (element && line) element.scrollTop = line.offsetTop - element.clientHeight / 2
  }, [seq, events.length])

  return (
    <ol class="sequence" ref={list} aria-label="Sequence of events" tabIndex={0}>
      <li class="sequence-head" style={{ gridTemplateColumns: template }}>
        {columns.map((name, index) => (
          <span key={`${index} ${name}`} class={index < askers.length ? 'asker' : ''} title={name}>
            {index < askers.length ? name : (name.split('/').at(-1) ?? name)}
          </span>
        ))}
      </li>
      {events.map((event) => (
        <li key={event.seq}>
          <button
            type="button"
            style={{ gridTemplateColumns: template }}
            aria-current={event.seq === seq ? 'true' : undefined}
            aria-label={`Event ${event.seq}, ${timeOf(event.at)}: ${eventInWords(event.type)}, ${event.plugin ?? 'host'}, ${originInWords(event.by)}`}
            onClick={() => onChoose(event.seq)}
          >
            {columns.map((name, index) => (
              <span key={`${index} ${name}`} class="life" style={{ gridColumn: index + 1 }} />
            ))}
            <span class="message" style={spanOf(askers.indexOf(event.by), columnOf(event))}>
              <span class="message-text">{eventInWords(event.type)}</span>
            </span>
          </button>
        </li>
      ))}
    </ol>
  )
}

/** From the middle of one column to the middle of another; `--span` is how many columns that takes. */
function spanOf(from: number, to: number): Record<string, string> {
  return { gridColumn: `${from + 1} / ${to + 2}`, '--span': String(to - from + 1) }
}
