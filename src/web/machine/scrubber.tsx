import { useEffect, useState } from 'preact/hooks'
import type { JournalEvent } from '../base/types.ts'
import { countOf, dateTimeOf, eventInWords } from '../base/words.ts'
import { Icon } from '../parts/icon.tsx'

/** Pause between two events when the past is played, in milliseconds. */
const playPause = 700

interface ScrubberProps {
  firstSeq: number
  lastSeq: number
  /** The moment that is looked at; undefined: now. */
  seq: number | undefined
  event: JournalEvent | undefined
  /** Numbers of the events to step through. */
  steps: readonly number[]
  /** undefined: back to now. */
  onMove(seq: number | undefined): void
}

/** Goes through the journal. It only looks: nothing on the running host changes. */
export function Scrubber({ firstSeq, lastSeq, seq, event, steps, onMove }: ScrubberProps) {
  const [playing, setPlaying] = useState(false)
  const position = seq ?? lastSeq
  const before = steps.findLast((step) => step < position)
  const after = steps.find((step) => step > position)

  useEffect(() => {
    if (!playing) return undefined
    const timer = setTimeout(() => {
      if (after === undefined) setPlaying(false)
      else onMove(after)
    }, playPause)
    return () => clearTimeout(timer)
  }, [playing, after, onMove])

  return (
    <section class="panel scrubber" aria-label="Time">
      <input
        type="range"
        min={firstSeq}
        max={Math.max(firstSeq, lastSeq)}
        value={position}
        aria-label="Moment in the history"
        aria-valuetext={
          event === undefined
            ? `Event ${position}`
            : `Event ${event.seq}, ${dateTimeOf(event.at)}, ${eventInWords(event.type)} ${event.plugin ?? ''}`
        }
        onInput={({ currentTarget }) => {
          setPlaying(false)
          onMove(Number(currentTarget.value))
        }}
      />
      <div class="scrubber-line">
        <div class="actions">
          <button
            type="button"
            aria-label="The event before"
            disabled={before === undefined}
            onClick={() => onMove(before)}
          >
            <Icon name="previous" />
          </button>
          <button
            type="button"
            aria-label={playing ? 'Stop playing' : 'Play from here'}
            disabled={after === undefined && !playing}
            onClick={() => setPlaying(!playing)}
          >
            <Icon name={playing ? 'pause' : 'play'} />
          </button>
          <button
            type="button"
            aria-label="The next event"
            disabled={after === undefined}
            onClick={() => onMove(after)}
          >
            <Icon name="next" />
          </button>
          <button
            type="button"
            disabled={seq === undefined}
            onClick={() => {
              setPlaying(false)
              onMove(undefined)
            }}
          >
            Now
          </button>
        </div>
        <p>
          {seq === undefined ? (
            <strong>Now</strong>
          ) : (
            <>
              <strong>#{position}</strong> {event === undefined ? '' : dateTimeOf(event.at)}
            </>
          )}
          <span class="hint"> of {countOf(lastSeq, 'event')}</span>
        </p>
      </div>
    </section>
  )
}
