/** Percent-encoding of RFC 3986. */

const percent = 0x25
const plus = 0x2b
const blank = 0x20
/** 1 for each byte that is an unreserved character of RFC 3986. */
const unreserved = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Za-z0-9._~-]/.test(String.fromCharCode(byte)) ? 1 : 0,
)
const digits = Buffer.from('0123456789ABCDEF')

/** Everything but the unreserved characters of RFC 3986, byte by byte. */
export function percentEncoded(bytes: Uint8Array): Buffer {
  let length = 0
  for (const byte of bytes) length += unreserved[byte] === 1 ? 1 : 3
  const encoded = Buffer.allocUnsafe(length)
  let at = 0
  for (const byte of bytes) {
    if (unreserved[byte] === 1) encoded[at++] = byte
    else {
      encoded[at++] = percent
      encoded[at++] = digits[byte >> 4] ?? 0
      encoded[at++] = digits[byte & 15] ?? 0
    }
  }
  return encoded
}

export const percentEncode = (bytes: Uint8Array): string => percentEncoded(bytes).toString('latin1')

/** The byte that is written as two hexadecimal digits there; undefined: there are none. */
export function escapedByte(bytes: Uint8Array, at: number): number | undefined {
  const digits = String.fromCharCode(bytes[at] ?? 0, bytes[at + 1] ?? 0)
  return /^[0-9a-f]{2}$/i.test(digits) ? Number.parseInt(digits, 16) : undefined
}

/** A `%` that begins no byte stays. `form`: `+` is a blank, as in urlencoded forms. */
export function percentDecoded(bytes: Uint8Array, form = false): Uint8Array {
  const decoded = new Uint8Array(bytes.length)
  let length = 0
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0
    const escaped = byte === percent ? escapedByte(bytes, index + 1) : undefined
    if (escaped !== undefined) index += 2
    decoded[length] = escaped ?? (form && byte === plus ? blank : byte)
    length += 1
  }
  return decoded.slice(0, length)
}
