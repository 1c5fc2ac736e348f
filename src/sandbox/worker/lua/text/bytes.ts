const encoder = new TextEncoder()
// The byte order mark is text like any other here.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Up to so many bytes of ASCII are faster to go through here than elsewhere. */
const shortText = 32
const firstBeyondAscii = 0x80

/** UTF-8 bytes of a text. */
export function toBytes(text: string): Uint8Array {
  const { length } = text
  if (length > shortText) return encoder.encode(text)
  const bytes = new Uint8Array(length)
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index)
    if (code >= firstBeyondAscii) return encoder.encode(text)
    bytes[index] = code
  }
  return bytes
}

/** The text of UTF-8 bytes; what is no UTF-8 becomes the replacement character. */
export function toUnicode(bytes: Uint8Array): string {
  const { length } = bytes
  if (length > shortText) return decoder.decode(bytes)
  let text = ''
  for (let index = 0; index < length; index += 1) {
    const byte = bytes[index] ?? firstBeyondAscii
    if (byte >= firstBeyondAscii) return decoder.decode(bytes)
    text += String.fromCharCode(byte)
  }
  return text
}

/** What `toString('latin1')` calls; it takes any bytes, and no buffer has to be made around them, for twice the time. */
const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, start: number, end: number): string
}

/** One character a byte. */
export const toLatin1 = (bytes: Uint8Array): string => latin1Slice.call(bytes, 0, bytes.length)

/** The same bytes, with what only a buffer can do. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** One byte a character; for text that is known to be ASCII, or that `toLatin1` made, or that came so over the wire. */
export function fromLatin1(text: string): Uint8Array {
  const { length } = text
  if (length > shortText) return new Uint8Array(Buffer.from(text, 'latin1'))
  const bytes = new Uint8Array(length)
  for (let index = 0; index < length; index += 1) bytes[index] = text.charCodeAt(index)
  return bytes
}
