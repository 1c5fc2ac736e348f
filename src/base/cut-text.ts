/** Bytes of a message that somebody else wrote (an error, a line of a log): what a person reads of it. */
export const messageBytesLimit = 4 * 1024

/**
 * The text with `limit` bytes of UTF-8 at most. One that is cut says how large it was, within the limit:
 * `… (8,000,000 bytes)`. Does not keep the whole text in memory, and cutting again changes nothing.
 */
export function cutText(text: string, limit = messageBytesLimit): string {
  // A character of UTF-16 has one byte at least, and three at most.
  if (text.length * 3 <= limit) return text
  const size = Buffer.byteLength(text)
  if (size <= limit) return text
  const ending = `… (${size.toLocaleString('en-US')} bytes)`
  const room = Math.max(0, limit - Buffer.byteLength(ending))
  const bytes = Buffer.from(text.slice(0, room))
  let end = Math.min(room, bytes.length)
  // Not within a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end) + ending
}
