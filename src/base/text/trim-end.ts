/** The text without the characters at its end that are this one. A regular expression takes quadratic time for it. */
export function trimEndOf(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}
