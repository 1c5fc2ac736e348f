/** Characters of a text whose answer is remembered: strangers may invent long ones. */
const textLength = 256

/**
 * The same function for texts that come again and again: up to `limit` of its answers are remembered, then it begins anew.
 * Only for one that answers the same for as long as it lives. What it throws is not remembered.
 */
export function memoize<T>(answer: (text: string) => T, limit = 1_000): (text: string) => T {
  const known = new Map<string, { readonly answer: T }>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found.answer
    const fresh = answer(text)
    if (text.length > textLength) return fresh
    if (known.size >= limit) known.clear()
    known.set(text, { answer: fresh })
    return fresh
  }
}
