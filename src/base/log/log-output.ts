import { constants, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { lazily } from '../lazily.ts'
import { type Clock, type ScheduledCall, systemClock } from '../time/clock.ts'
import { systemErrorCode } from '../problem.ts'

/** Milliseconds that a reader who is behind may hold up the end of the process. */
const patience = 200
/** Milliseconds between two looks at whether it reads again. */
const pause = 5
/** Bytes that wait for a reader who is behind; what comes on top is lost. */
const heldBytesLimit = 1024 * 1024

/**
 * File descriptor. A terminal that is paused (Ctrl-S, a connection that hangs) makes whoever writes to it wait, unless the file was
 * opened not to. That is set for all who share an open file, such as the shell, so the terminal is opened once more where that goes.
 */
const standardOutput = lazily((): number => {
  if (!isatty(1)) return 1
  try {
    return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK)
  } catch {
    return 1
  }
})

/** Where log lines go, one after another. */
export interface LogOutput {
  /** Writes a line (with its line feed) at once, or when the reader has room. Never throws: what cannot be written is lost. */
  write(line: string): void
  /** Writes what waits, for the last time. */
  flush(): void
}

export type WriteBytes = (bytes: Uint8Array) => number

/**
 * Standard output, synchronously, so that the last line before an exit is there. It may be a file on a full disk,
 * a terminal that is paused, or a pipe whose reader is gone, slow, or does not read: that costs lines, but must not end or hold up the host. `lost`
 * is called with how many there were, as soon as lines can be written again.
 */
export function createLogOutput(
  lost: (lines: number) => void,
  write: WriteBytes = (bytes) => writeSync(standardOutput(), bytes),
  clock: Pick<Clock, 'schedule'> = systemClock,
): LogOutput {
  let missing = 0
  /** Something of a line is there, but not its end. */
  let broken = false
  /** What the reader has had no room for: the rest of a line, and whole ones. */
  let held: Uint8Array[] = []
  let heldBytes = 0
  let next: ScheduledCall | undefined

  /** Writes all of it, or up to where the reader has no room, or the output fails. Answers what is left. */
  function tryToWrite(given: Uint8Array): { left: Uint8Array; failed: boolean } {
    let left = given
    while (left.length > 0) {
      try {
        const written = write(left)
        if (written > 0) broken = left[written - 1] !== lineFeed
        left = left.subarray(written)
      } catch (error) {
        return { left, failed: systemErrorCode(error) !== 'EAGAIN' }
      }
    }
    return { left, failed: false }
  }

  function hold(bytes: Uint8Array): void {
    held.push(bytes)
    heldBytes += bytes.length
  }

  /** False when there is no room yet. */
  function writeHeld(): boolean {
    const all = Buffer.concat(held)
    held = []
    heldBytes = 0
    const { left, failed } = tryToWrite(all)
    if (failed) missing += linesIn(left)
    else if (left.length > 0) hold(left)
    return left.length === 0 || failed
  }

  function tellLost(): void {
    if (missing === 0) return
    const lines = missing
    missing = 0
    lost(lines)
  }

  function goOnLater(): void {
    next ??= clock.schedule(pause, () => {
      next = undefined
      if (!writeHeld()) goOnLater()
      else tellLost()
    })
  }

  return {
    write(line) {
      const bytes = Buffer.from(broken && held.length === 0 ? `\n${line}` : line)
      if (held.length > 0) {
        if (heldBytes + bytes.length > heldBytesLimit) missing += 1
        else hold(bytes)
        return
      }
      const { left, failed } = tryToWrite(bytes)
      if (failed) missing += 1
      else if (left.length > 0) {
        hold(left)
        goOnLater()
      } else tellLost()
    },
    flush() {
      next?.cancel()
      next = undefined
      for (let waited = 0; held.length > 0 && !writeHeld() && waited < patience; waited += pause)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause)
    },
  }
}

const lineFeed = 0x0a

function linesIn(bytes: Uint8Array): number {
  let lines = 0
  for (const byte of bytes) if (byte === lineFeed) lines += 1
  return lines
}
