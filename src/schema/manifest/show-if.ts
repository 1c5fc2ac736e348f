// Without schemas, so that the pages can use it too.

/** Whether a field is shown, by what stands in the fields beside it, defaults filled in. */
export function isShown(
  { showIf }: { showIf: Readonly<Record<string, unknown>> | null },
  beside: Readonly<Record<string, unknown>>,
): boolean {
  return Object.entries(showIf ?? {}).every(([key, wanted]) => {
    const value = Object.hasOwn(beside, key) ? beside[key] : undefined
    return Array.isArray(wanted) ? wanted.some((one) => isWanted(value, one)) : isWanted(value, wanted)
  })
}

/** What is not set is off, and an empty text. Numbers may be written as text. */
function isWanted(value: unknown, wanted: unknown): boolean {
  if (value === undefined || value === null) return wanted === false || wanted === '' || wanted === null
  return (
    value === wanted ||
    JSON.stringify(value) === (typeof wanted === 'string' ? wanted : JSON.stringify(wanted))
  )
}
