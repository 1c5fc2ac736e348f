/** Percent-encoding of RFC 3986. */

const percent = 0x25
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
