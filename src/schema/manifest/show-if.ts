// Without schemas, so that the pages can use it too.

/** Whether a field is shown, by what stands in the fields beside it, defaults filled in. */
export function isShown(
  { showIf }: { showIf: Readonly<Record<string, unknown>> | null },
  beside: Readonly<Record<string, unknown>>,
): boolean {
  return Object.entries(showIf ?? {}).every(([key, wanted]) => {
    const value = Object.hasOwn(beside, key) ? beside[key] : undefined
    // Once, for there may be many that are wanted.
    const text = JSON.stringify(value)
    return Array.isArray(wanted)
      ? wanted.some((one) => isWanted(value, text, one))
      : isWanted(value, text, wanted)
  })
}

/** What is not set is off, and an empty text. Numbers may be written as text. `text`: the value as JSON. */
function isWanted(value: unknown, text: string, wanted: unknown): boolean {
  if (value === undefined || value === null) return wanted === false || wanted === '' || wanted === null
  return value === wanted || text === (typeof wanted === 'string' ? wanted : JSON.stringify(wanted))
}
