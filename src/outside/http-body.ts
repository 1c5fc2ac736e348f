import { promisify } from 'node:util'
import { brotliDecompress, constants, gunzip, inflate, inflateRaw } from 'node:zlib'
import { systemErrorCode } from '../base/problem.ts'

/** Bytes of a body, before and after it is decoded: a plugin reads states and forecasts, not films. */
export const bodyLimit = 5 * 1024 * 1024

/** A body that cannot be handed over; the message says why. */
export class BodyError extends Error {
  override readonly name = 'BodyError'
}

/** Reads a whole body. Throws `BodyError` when it is larger than the limit; then the rest is not read. */
export async function readBody(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > bodyLimit) throw tooLarge()
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}

function tooLarge(): BodyError {
  return new BodyError(`the body is larger than ${bodyLimit / 1024 / 1024} MiB`)
}

type Decode = (bytes: Uint8Array) => Promise<Uint8Array>

// A missing end is forgiven, as browsers do: some small servers never send it.
const options = { maxOutputLength: bodyLimit, finishFlush: constants.Z_SYNC_FLUSH }
const decodeGzip: Decode = (bytes) => promisify(gunzip)(bytes, options)
const decoders: Readonly<Record<string, Decode>> = {
  gzip: decodeGzip,
  'x-gzip': decodeGzip,
  // Servers disagree on whether `deflate` has a header; its first byte tells.
  deflate: (bytes) =>
    ((bytes[0] ?? 0) & 0x0f) === 8
      ? promisify(inflate)(bytes, options)
      : promisify(inflateRaw)(bytes, options),
  br: (bytes) =>
    promisify(brotliDecompress)(bytes, {
      maxOutputLength: bodyLimit,
      finishFlush: constants.BROTLI_OPERATION_FLUSH,
    }),
}
export const acceptedEncodings = 'gzip, deflate, br'

/** Undoes the content encodings; one that is not known is left as it is. Throws `BodyError`. */
export async function decodeBody(bytes: Uint8Array, contentEncoding: string): Promise<Uint8Array> {
  let decoded = bytes
  const encodings = contentEncoding.split(',').map((name) => name.trim().toLowerCase())
  for (const encoding of encodings.reverse()) {
    const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
    if (decode === undefined || decoded.byteLength === 0) return decoded
    try {
      decoded = await decode(decoded)
    } catch (error) {
      if (systemErrorCode(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge()
      throw new BodyError(`the body is not the ${encoding} that the server says it is`)
    }
  }
  return decoded
}
