import type { Readable } from 'node:stream'

/**
 * All that has come of a stream of bytes, by `read`, its own way to read; null: nothing. From version 26 on Node brings one
 * buffer of it at a time.
 */
export function readAvailable(
  stream: Pick<Readable, 'readableLength'>,
  read: () => Buffer | null,
): Buffer | null {
  const first = read()
  if (first === null || stream.readableLength === 0) return first
  const parts = [first]
  for (let next = read(); next !== null; next = read()) parts.push(next)
  return Buffer.concat(parts)
}
