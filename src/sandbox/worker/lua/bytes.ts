const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** UTF-8 bytes of a text. */
export const toBytes = (text: string): Uint8Array => encoder.encode(text)

/** The text of UTF-8 bytes; what is no UTF-8 becomes the replacement character. */
export const toUnicode = (bytes: Uint8Array): string => decoder.decode(bytes)

/** One character a byte. */
export const toLatin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')

/** One byte a character; for text that is known to be ASCII, or that `toLatin1` made. */
export const fromLatin1 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'latin1'))
