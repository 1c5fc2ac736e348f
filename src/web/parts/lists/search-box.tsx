import { Icon } from '../icon.tsx'
import { literalText } from '../inputs/literal-text.ts'

interface SearchBoxProps {
  label: string
  value: string
  /** How many there are; told only while something is searched. Undefined: they are being read. */
  found: number | undefined
  onInput(value: string): void
}

/** Whether one of these texts has what is searched. */
export function fitsSearch(wanted: string, texts: readonly (string | null)[]): boolean {
  const text = wanted.trim().toLowerCase()
  return texts.some((one) => one?.toLowerCase().includes(text) === true)
}

export function SearchBox({ label, value, found, onInput }: SearchBoxProps) {
  return (
    <>
      <div class="search">
        <Icon name="search" />
        <input
          type="search"
          {...literalText}
          aria-label={label}
          placeholder={label}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      </div>
      <span class="hint" role="status">
        {value.trim() === '' || found === undefined ? '' : `${found} found`}
      </span>
    </>
  )
}
