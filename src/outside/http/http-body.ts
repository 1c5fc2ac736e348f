import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import { brotliDecompress, constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { systemErrorCode } from '../../base/problem.ts'
import { decodeDeflate, decodeGzip } from './deflated-body.ts'

/** A body that cannot be handed over; the message says why. */
export class BodyError extends Error {
  override readonly name = 'BodyError'
  readonly code: 'network' | 'too_large'

  constructor(message: string, code: 'network' | 'too_large' = 'network') {
    super(message)
    this.code = code
  }
}

/** Reads a whole body. Throws `BodyError` when it has more bytes than `limit`; then the rest is not read. */
export async function readBody(chunks: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(limit)
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}

function tooLarge(limit: number): BodyError {
  const mebibytes = limit / 1024 / 1024
  const shown = limit > 0 && Number.isInteger(mebibytes) ? `${mebibytes} MiB` : `${limit} bytes`
  return new BodyError(`the body is larger than ${shown}`, 'too_large')
}

type Decode = (bytes: Uint8Array, maxOutputLength: number) => Promise<Uint8Array>

const decoders: Readonly<Record<string, Decode>> = {
  gzip: decodeGzip,
  'x-gzip': decodeGzip,
  deflate: decodeDeflate,
  br: (bytes, maxOutputLength) => promisify(brotliDecompress)(bytes, { maxOutputLength }),
}
export const acceptedEncodings = 'gzip, deflate, br'
/** Encodings of one body: each one more takes the time of the whole body, and a header has room for thousands. */
const encodingsLimit = 5

const unpackAsItComes = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
const streamDecoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(unpackAsItComes),
  'x-gzip': () => createGunzip(unpackAsItComes),
  deflate: () => createInflate(unpackAsItComes),
  br: () =>
    createBrotliDecompress({
      flush: constants.BROTLI_OPERATION_FLUSH,
      finishFlush: constants.BROTLI_OPERATION_FLUSH,
    }),
}

/** Undoes the content encodings; one that is not known is left as it is. Throws `BodyError` as `readBody`. */
export async function decodeBody(
  bytes: Uint8Array,
  contentEncoding: string,
  limit: number,
): Promise<Uint8Array> {
  let decoded = bytes
  const encodings = contentEncoding.split(',').map((name) => name.trim().toLowerCase())
  if (encodings.length > encodingsLimit)
    throw new BodyError(`the body is encoded more than ${encodingsLimit} times`)
  for (const encoding of encodings.reverse()) {
    const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
    if (decode === undefined || decoded.byteLength === 0) return decoded
    try {
      decoded = await decode(decoded, limit)
    } catch (error) {
      if (systemErrorCode(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limit)
      if (systemErrorCode(error) === 'Z_BUF_ERROR')
        throw new BodyError(`the end of the body is missing (${encoding})`)
      throw new BodyError(`the body is not the ${encoding} that the server says it is`)
    }
  }
  return decoded
}

/** Undoes the encoding of a body that goes on, as it comes; undefined: it has none, or one that is not known. */
export function createStreamDecoder(contentEncoding: string): Transform | undefined {
  const encoding = contentEncoding.trim().toLowerCase()
  return Object.hasOwn(streamDecoders, encoding) ? streamDecoders[encoding]?.() : undefined
}
