import type { RefObject } from 'preact'

interface SwitchProps {
  label: string
  on: boolean
  disabled?: boolean
  /** Gets its button. */
  button?: RefObject<HTMLButtonElement | null>
  onChange(on: boolean): void
}

export function Switch({ label, on, disabled = false, button, onChange }: SwitchProps) {
  return (
    <button
      {...(button === undefined ? {} : { ref: button })}
      type="button"
      role="switch"
      class="switch"
      aria-checked={on}
      aria-label={label}
      disabled={disabled}
      onClick={() => onChange(!on)}
    >
      <span class="knob" />
    </button>
  )
}
