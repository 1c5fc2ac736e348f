import { delimiterLimit, silenceLimit } from '../../../../schema/outside/connection-limits.ts'
import type { LuaValue } from '../../lua/lua-value.ts'
import { isTable, optionalNumber, optionalText } from '../../lua/arguments.ts'
import { createReceivedBytes } from './received-bytes.ts'

/** How a stream of bytes falls into frames. */
export type Framing =
  /** Ends with a line feed; a carriage return before it is left out, too. */
  | { by: 'line' }
  | { by: 'delimiter'; delimiter: Uint8Array }
  /** Begins with the number of bytes that follow, in so many bytes, big-endian. */
  | { by: 'length'; bytes: 2 | 4 }
  /** Ends when no byte has come for so many milliseconds, of which the host tells: it knows when they came. */
  | { by: 'silence'; milliseconds: number }

/** Takes a stream of bytes apart. */
export interface Framer {
  add(chunk: Uint8Array): void
  /** What has come so far is a whole frame, if it is any. */
  finish(): void
  /**
   * The first frame that is whole, without what ends it or begins it; its bytes stay until `add`. Undefined: none is, and
   * none will be of a stream that is too long.
   */
  next(): Uint8Array | undefined
  /** A frame has more bytes than it may; nothing more comes of this stream. */
  readonly isOverlong: boolean
}

const lineFeed = Buffer.from('\n')
const carriageReturn = 0x0d

/** `limit`: bytes of one frame, at most. */
export function createFramer(framing: Framing, limit: number): Framer {
  const received = createReceivedBytes()
  const delimiter = framing.by === 'delimiter' ? framing.delimiter : lineFeed
  // What ends the frame may be there in part; how long it will be is known where it begins with that.
  const most = framing.by === 'length' ? Infinity : limit + Math.max(delimiter.length, 2)
  let isFinished = false
  let isOverlong = false

  function cut(): Uint8Array | undefined {
    if (framing.by === 'line' || framing.by === 'delimiter') {
      const found = received.takeUpTo(delimiter)
      if (found !== undefined) return found
    } else if (framing.by === 'length') {
      const length = received.readLength(framing.bytes)
      if (length === undefined) return undefined
      isOverlong = length > limit
      return isOverlong ? undefined : received.take(framing.bytes, length)
    }
    if (!isFinished) return undefined
    isFinished = false
    return received.length === 0 ? undefined : received.takeAll()
  }

  return {
    add(chunk) {
      if (!isOverlong) received.add(chunk)
    },
    finish() {
      isFinished = true
    },
    next() {
      if (isOverlong) return undefined
      const found = cut()
      const frame = framing.by === 'line' && found?.at(-1) === carriageReturn ? found.subarray(0, -1) : found
      if (frame === undefined ? received.length > most : frame.length > limit) isOverlong = true
      return isOverlong ? undefined : frame
    },
    get isOverlong() {
      return isOverlong
    },
  }
}

/** The option `framing`. Throws `Error` with what is wrong with it. */
export function readFraming(value: LuaValue): Framing | undefined {
  if (value === undefined) return undefined
  if (isTable(value)) {
    const [delimiter, length, silence] = ['delimiter', 'length', 'silence'].map((name) => value.get(name))
    if (delimiter instanceof Uint8Array) return { by: 'delimiter', delimiter: readDelimiter(delimiter) }
    const bytes = optionalNumber(length)
    if (bytes === 2 || bytes === 4) return { by: 'length', bytes }
    const milliseconds = optionalNumber(silence)
    if (milliseconds !== undefined && milliseconds > 0 && milliseconds <= silenceLimit)
      return { by: 'silence', milliseconds }
  } else if (optionalText(value) === 'line') return { by: 'line' }
  throw new Error(
    'framing must be "line", { length = 2 or 4 }, { delimiter = "…" } or { silence = milliseconds }',
  )
}

function readDelimiter(bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0 || bytes.length > delimiterLimit)
    throw new Error(`a delimiter has 1 to ${delimiterLimit} bytes, not ${bytes.length}`)
  return bytes
}
