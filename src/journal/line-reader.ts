import type { FileHandle } from 'node:fs/promises'

/** Bytes that are read at a time; a line may be longer. */
const chunkBytes = 1024 * 1024
const lineFeed = 0x0a

/** A line without its line feed; `whole` is false for what follows the last line feed of the file. */
export interface Line {
  bytes: Buffer
  /** Position of its first byte in the file. */
  start: number
  whole: boolean
}

/** The lines of a file from its beginning, some at a time, so that a file of any size takes little memory. */
export async function* readLines(file: FileHandle): AsyncGenerator<Line[]> {
  /** What has been read of a line whose end has not come yet, and where that line begins. */
  let rest: Buffer[] = []
  let start = 0
  for (let position = 0; ;) {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    const { bytesRead } = await file.read(chunk, 0, chunkBytes, position)
    if (bytesRead === 0) break
    position += bytesRead
    const read = chunk.subarray(0, bytesRead)
    if (!read.includes(lineFeed)) {
      rest.push(read)
      continue
    }
    const { lines, left } = splitLines(Buffer.concat([...rest, read]), start)
    rest = left.length === 0 ? [] : [left]
    start = position - left.length
    yield lines
  }
  if (rest.length > 0) yield [{ bytes: Buffer.concat(rest), start, whole: false }]
}

/** `start`: position of `bytes` in the file. */
function splitLines(bytes: Buffer, start: number): { lines: Line[]; left: Buffer } {
  const lines: Line[] = []
  let from = 0
  for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, from)) {
    lines.push({ bytes: bytes.subarray(from, end), start: start + from, whole: true })
    from = end + 1
  }
  return { lines, left: bytes.subarray(from) }
}
