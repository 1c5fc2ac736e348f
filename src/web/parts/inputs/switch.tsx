interface SwitchProps {
  label: string
  on: boolean
  disabled?: boolean
  onChange(on: boolean): void
}

export function Switch({ label, on, disabled = false, onChange }: SwitchProps) {
  return (
    <button
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
