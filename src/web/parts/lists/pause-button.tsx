import { countOf } from '../../base/words.ts'

interface PauseButtonProps {
  paused: boolean
  /** How many lines have come since the pause. */
  waiting: number
  onChange(paused: boolean): void
}

export function PauseButton({ paused, waiting, onChange }: PauseButtonProps) {
  return (
    <>
      <button type="button" aria-pressed={paused} onClick={() => onChange(!paused)}>
        {paused ? 'Go on' : 'Pause'}
      </button>
      {paused ? <span class="hint paused">Paused; {countOf(waiting, 'new line')} since</span> : null}
    </>
  )
}
