/** Bytes of a message that somebody else wrote (an error, a line of a log): what a person reads of it. */
export const messageBytesLimit = 4 * 1024

/**
 * The text with `limit` bytes of UTF-8 at most. One that is cut says how large it was, within the limit:
 * `… (8,000,000 bytes)`. Does not keep the whole text in memory, and cutting again changes nothing.
 * `whole`: what the text is the beginning of, if it is not all.
 */
export function cutText(text: string, limit = messageBytesLimit, whole = text): string {
  // A character of UTF-16 has one byte at least, and three at most.
  if (text.length * 3 <= limit && whole.length <= text.length) return text
  const bytes = new TextEncoder().encode(text)
  const size = whole === text ? bytes.length : new TextEncoder().encode(whole).length
  if (bytes.length <= limit && size <= limit) return text
  const ending = `… (${size.toLocaleString('en-US')} bytes)`
  let end = Math.max(0, limit - new TextEncoder().encode(ending).length)
  // Not within a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, end)) + ending
}

/** Whether it looks as what `cutText` makes of a longer one. */
export const isCut = (text: string): boolean => /… \([\d,]+ bytes\)$/.test(text)

/** Bytes of a name that somebody asked for, where a sentence repeats it. */
const quotedBytesLimit = 200

/** What somebody asked for, in quotes, and no longer than leaves room for what the sentence says of it. */
export const quoted = (text: string): string => JSON.stringify(cutText(text, quotedBytesLimit))

/** The value with every text in it cut, at any depth. */
export function cutTexts<T>(value: T, limit = messageBytesLimit): T {
  if (typeof value === 'string') return cutText(value, limit) as T & string
  if (Array.isArray(value)) return value.map((item: unknown) => cutTexts(item, limit)) as T & unknown[]
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, cutTexts<unknown>(member, limit)]),
  ) as T & object
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
