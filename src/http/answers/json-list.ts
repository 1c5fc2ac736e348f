/** Characters that are put together before they leave the heap: to do so with each short text would take longer. */
const pieceLength = 64 * 1024

/**
 * The object whose one member is a list of what has been written as JSON already. It is put together beside the heap, which
 * has all that is listed once, and need not have it a second time as one text.
 */
export function jsonList(name: string, items: Iterable<string | Buffer>): Buffer {
  const pieces: Buffer[] = []
  let text = `{${JSON.stringify(name)}:[`
  let separator = ''

  function flushText(): void {
    pieces.push(Buffer.from(text))
    text = ''
  }

  for (const item of items) {
    text += separator
    separator = ','
    if (typeof item === 'string') text += item
    if (typeof item !== 'string' || text.length >= pieceLength) flushText()
    if (typeof item !== 'string') pieces.push(item)
  }
  text += ']}'
  flushText()
  return Buffer.concat(pieces)
}
