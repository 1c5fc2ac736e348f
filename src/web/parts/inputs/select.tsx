interface SelectProps<Value extends string> {
  label: string
  value: Value
  /** Each with what people read. */
  options: readonly (readonly [value: Value, words: string])[]
  onChange(value: Value): void
}

/** One of a few, in a toolbar. */
export function Select<Value extends string>({ label, value, options, onChange }: SelectProps<Value>) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => {
        const chosen = options[currentTarget.selectedIndex]
        if (chosen !== undefined) onChange(chosen[0])
      }}
    >
      {options.map(([option, words]) => (
        <option key={option} value={option}>
          {words}
        </option>
      ))}
    </select>
  )
}
