import { Icon } from './icon.tsx'

interface SearchBoxProps {
  label: string
  value: string
  onInput(value: string): void
}

export function SearchBox({ label, value, onInput }: SearchBoxProps) {
  return (
    <div class="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </div>
  )
}
