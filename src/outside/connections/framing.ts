import type { Clock, ScheduledCall } from '../../base/clock.ts'
import type { Framing } from '../../schema/connection.ts'

/** Takes a stream of bytes apart. */
export interface Framer {
  push(chunk: Uint8Array): void
  /** Keeps what has come, until `release`: a piece of a stream may be thousands of frames. Answers whether it still does. */
  hold(): void
  release(): boolean
  /** Gives all frames that are whole. */
  flush(): void
  /** Forgets what has come. */
  close(): void
}

export interface FramerSettings {
  framing: Framing
  clock: Clock
  /** Bytes of one frame, at most. */
  limit: number
  /** A whole frame, without what ends it or begins it. Its bytes are a part of what has come. */
  frame(bytes: Uint8Array): void
  /** A frame has more bytes than it may; nothing more comes of this stream. */
  overlong(): void
}

const lineFeed = Buffer.from('\n')
const carriageReturn = 0x0d
/** Bytes of room to begin with. */
const leastRoom = 4 * 1024

export function createFramer(settings: FramerSettings): Framer {
  const { framing, limit, overlong } = settings
  const received = createReceived()
  let over = false
  let held = false
  const isOver = (): boolean => over
  const isHeld = (): boolean => held
  let timer: ScheduledCall | undefined

  function frame(bytes: Uint8Array): void {
    if (bytes.byteLength <= limit) settings.frame(bytes)
    else refuse()
  }

  function refuse(): void {
    over = true
    received.clear()
    overlong()
  }

  /** The first frame of what has come; undefined: it is not whole. */
  function take(): Uint8Array | undefined {
    switch (framing.by) {
      case 'line': {
        const line = received.takeUpTo(lineFeed)
        return line?.at(-1) === carriageReturn ? line.subarray(0, -1) : line
      }
      case 'delimiter':
        return received.takeUpTo(delimiter)
      case 'length': {
        const length = received.readLength(framing.bytes)
        if (length === undefined) return undefined
        if (length > limit) {
          refuse()
          return undefined
        }
        return received.take(framing.bytes, length)
      }
      case 'silence':
        return undefined
    }
  }
  const delimiter = Buffer.from(framing.by === 'delimiter' ? framing.delimiter : '', 'latin1')

  function drain(whatever = false): void {
    while (!isOver() && (whatever || !isHeld())) {
      const next = take()
      if (next === undefined) break
      frame(next)
    }
    // What ends the frame may be there in part.
    if (!isOver() && !isHeld() && received.length > limit + Math.max(delimiter.length, 2)) refuse()
  }

  return {
    hold() {
      held = true
    },
    release() {
      held = false
      drain()
      return isHeld()
    },
    flush: () => drain(true),
    push(chunk) {
      if (over) return
      received.add(chunk)
      if (framing.by === 'silence') {
        timer?.cancel()
        timer = settings.clock.schedule(framing.milliseconds, () => frame(received.takeAll()))
      }
      drain()
    },
    close() {
      over = true
      timer?.cancel()
      received.clear()
    },
  }
}

/** Bytes in one piece of memory that grows, so that a stream of single bytes is not copied again and again. */
function createReceived() {
  let room = Buffer.alloc(0)
  let from = 0
  let to = 0
  /** Up to here there is no delimiter. */
  let searched = 0

  /** The bytes up to here, of which `after` more are left out. */
  function cut(begin: number, end: number, after = 0): Uint8Array {
    // A copy: the room is used again.
    const taken = Buffer.from(room.subarray(begin, end))
    from = end + after
    searched = from
    return taken
  }

  return {
    get length() {
      return to - from
    },
    add(chunk: Uint8Array): void {
      if (to + chunk.byteLength > room.byteLength) {
        const length = to - from
        const wanted = length + chunk.byteLength
        const larger = wanted * 2 > room.byteLength ? Buffer.alloc(Math.max(leastRoom, wanted * 2)) : room
        room.copy(larger, 0, from, to)
        searched -= from
        room = larger
        from = 0
        to = length
      }
      room.set(chunk, to)
      to += chunk.byteLength
    },
    takeUpTo(delimiter: Uint8Array): Uint8Array | undefined {
      const found = room.subarray(0, to).indexOf(delimiter, searched)
      if (found >= 0) return cut(from, found, delimiter.byteLength)
      searched = Math.max(from, to - delimiter.byteLength + 1)
      return undefined
    },
    readLength(bytes: 2 | 4): number | undefined {
      return to - from < bytes ? undefined : room.readUIntBE(from, bytes)
    },
    take(skip: number, bytes: number): Uint8Array | undefined {
      return to - from < skip + bytes ? undefined : cut(from + skip, from + skip + bytes)
    },
    takeAll: () => cut(from, to),
    clear(): void {
      room = Buffer.alloc(0)
      from = 0
      to = 0
      searched = 0
    },
  }
}
