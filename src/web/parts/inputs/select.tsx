interface SelectProps<Value extends string> {
  label: string
  value: Value
  /** Each with what people read. */
  options: readonly (readonly [value: Value, words: string])[]
  onChange(value: Value): void
}

/** One of a few, in a toolbar. What an address asks for is shown as it is where there is no such one. */
export function Select<Value extends string>({ label, value, options, onChange }: SelectProps<Value>) {
  const isOffered = options.some(([option]) => option === value)
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
      {isOffered ? null : <option value={value}>{value}</option>}
    </select>
  )
}
