import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

/** Bytes that are read at a time; a line may be longer. */
const chunkBytes = 1024 * 1024
const lineFeed = 0x0a

/** Up to `length` bytes from `position` on; fewer where the file ends. */
async function readBytes(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

/** Calls `take` with where each line in `bytes` begins and where its line feed is. Answers where the rest begins. */
export function splitLines(bytes: Uint8Array, take: (start: number, end: number) => void): number {
  let start = 0
  for (;;) {
    const end = bytes.indexOf(lineFeed, start)
    if (end === -1) return start
    take(start, end)
    start = end + 1
  }
}

/** A line without its line feed; `whole` is false for what follows the last line feed of the file. */
export interface Line {
  bytes: Buffer
  /** Position of its first byte in the file. */
  start: number
  whole: boolean
}

/** Some lines that follow each other; `bytes` are all of theirs, line feeds included. */
export interface Lines {
  lines: Line[]
  bytes: Buffer
  /** Position of the first byte in the file. */
  start: number
}

/** The lines of a file, without holding it in memory. */
export async function* readLines(file: FileHandle): AsyncGenerator<Lines> {
  let rest: Buffer[] = []
  let start = 0
  for (let next = 0; ;) {
    const chunk = await readBytes(file, next, chunkBytes)
    if (chunk.length === 0) break
    next += chunk.length
    if (!chunk.includes(lineFeed)) {
      rest.push(chunk)
      continue
    }
    const bytes = rest.length === 0 ? chunk : Buffer.concat([...rest, chunk])
    const lines: Line[] = []
    const origin = start
    const used = splitLines(bytes, (from, to) =>
      lines.push({ bytes: bytes.subarray(from, to), start: origin + from, whole: true }),
    )
    rest = used === bytes.length ? [] : [bytes.subarray(used)]
    start = origin + used
    yield { lines, bytes: bytes.subarray(0, used), start: origin }
  }
  const bytes = Buffer.concat(rest)
  if (bytes.length > 0) yield { lines: [{ bytes, start, whole: false }], bytes, start }
}

/** SHA-256, in hexadecimal, of the first bytes of a file; undefined when it has fewer. */
export async function hashOfBeginning(file: FileHandle, length: number): Promise<string | undefined> {
  const hash = createHash('sha256')
  for (let done = 0; done < length;) {
    const bytes = await readBytes(file, done, Math.min(chunkBytes, length - done))
    if (bytes.length === 0) return undefined
    hash.update(bytes)
    done += bytes.length
  }
  return hash.digest('hex')
}
