import { writeSync } from 'node:fs'
import { systemErrorCode } from './problem.ts'

/** Milliseconds that a reader who is behind may hold up the host, at a line. */
const patience = 200
/** Milliseconds between two looks at whether it reads again. */
const pause = 5

/** File descriptor. */
const standardOutput = 1

/** Where log lines go, one after another. */
export interface LogOutput {
  /** Writes a line (with its line feed) at once. Never throws: what cannot be written is lost. */
  write(line: string): void
}

export type WriteBytes = (bytes: Uint8Array) => number

/**
 * Standard output, synchronously, so that the last line before an exit is there. It may be a file on a full disk,
 * or a pipe whose reader is gone or does not read: that costs lines, but must not end or hold up the host. `lost`
 * is called with how many there were, as soon as lines can be written again.
 */
export function createLogOutput(
  lost: (lines: number) => void,
  write: WriteBytes = (bytes) => writeSync(standardOutput, bytes),
): LogOutput {
  let missing = 0
  /** Something of a line is there, but not its end. */
  let broken = false

  /** False when not all of it could be written. */
  function tryToWrite(text: string): boolean {
    let bytes: Uint8Array = Buffer.from(text)
    // Who did not read the last line is not waited for at this one.
    let waited = missing > 0 ? patience : 0
    while (bytes.length > 0) {
      try {
        const written = write(bytes)
        if (written > 0) broken = written < bytes.length
        bytes = bytes.subarray(written)
      } catch (error) {
        if (systemErrorCode(error) !== 'EAGAIN' || waited >= patience) return false
        waited += pause
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause)
      }
    }
    return true
  }

  return {
    write(line) {
      if (!tryToWrite(broken ? `\n${line}` : line)) {
        missing += 1
        return
      }
      if (missing === 0) return
      const lines = missing
      missing = 0
      lost(lines)
    },
  }
}
