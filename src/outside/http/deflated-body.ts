import { promisify } from 'node:util'
import { constants, gunzip, inflate, inflateRaw, type Zlib, type ZlibOptions } from 'node:zlib'
import { systemErrorCode } from '../../base/problem.ts'

/** What zlib writes where all so far is to be readable: a server that ends there has sent all that it had. */
const flushMark = Buffer.from([0x00, 0x00, 0xff, 0xff])

/** How a format wraps what is compressed: bytes before it, where they can be told, and bytes of its checksum behind. */
interface Wrapping {
  before: number | undefined
  checksum: number
}

type Inflate = (bytes: Uint8Array, options: ZlibOptions) => Promise<Uint8Array>

/** All of a body. Throws what zlib throws. */
export function decodeGzip(bytes: Uint8Array, maxOutputLength: number): Promise<Uint8Array> {
  return decode(promisify(gunzip), bytes, maxOutputLength, { before: gzipHeaderBytes(bytes), checksum: 8 })
}

/** The same of `deflate`. Servers disagree on whether it has a header; its first byte tells. */
export function decodeDeflate(bytes: Uint8Array, maxOutputLength: number): Promise<Uint8Array> {
  return ((bytes[0] ?? 0) & 0x0f) === 8
    ? decode(promisify(inflate), bytes, maxOutputLength, { before: 2, checksum: 4 })
    : decode(promisify(inflateRaw), bytes, maxOutputLength, { before: undefined, checksum: 0 })
}

/**
 * Some small servers leave out the end: the last mark, or the checksum behind it. What ends anywhere else was cut off, and half
 * of an answer is none.
 */
async function decode(
  inflateAll: Inflate,
  bytes: Uint8Array,
  maxOutputLength: number,
  { before, checksum }: Wrapping,
): Promise<Uint8Array> {
  try {
    return await inflateAll(bytes, { maxOutputLength })
  } catch (error) {
    if (systemErrorCode(error) !== 'Z_BUF_ERROR') throw error
    if (flushMark.equals(bytes.subarray(-flushMark.length)))
      return await inflateAll(bytes, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH })
    if (before === undefined) throw error
    const rest = bytes.subarray(before)
    const { buffer, engine } = await inflateTelling(rest, maxOutputLength)
    if (rest.length - engine.bytesWritten >= checksum) throw error
    return buffer
  }
}

/** `engine.bytesWritten`: how much was needed. The types of Node do not know what `info` brings. */
function inflateTelling(
  bytes: Uint8Array,
  maxOutputLength: number,
): Promise<{ buffer: Buffer; engine: Zlib }> {
  const answer: Promise<unknown> = promisify(inflateRaw)(bytes, { maxOutputLength, info: true })
  return answer as Promise<{ buffer: Buffer; engine: Zlib }>
}

/** RFC 1952, section 2.3; undefined: there is no whole header. */
function gzipHeaderBytes(bytes: Uint8Array): number | undefined {
  const flags = bytes[3] ?? 0
  let length = 10
  if ((flags & 0x04) !== 0) length += 2 + (bytes[length] ?? 0) + (bytes[length + 1] ?? 0) * 256
  for (const flag of [0x08, 0x10]) {
    if ((flags & flag) === 0) continue
    const end = bytes.indexOf(0, length)
    if (end === -1) return undefined
    length = end + 1
  }
  if ((flags & 0x02) !== 0) length += 2
  return length < bytes.length ? length : undefined
}
