import type { LogEntry } from '../base/types.ts'

/** For lists: no two have the same key. */
export type LogLine = LogEntry & {
  key: number
  /** Which connection has brought it; undefined: it was read. */
  connection?: number
}

/**
 * Lines that were read, and behind them those of the stream that have come since. `before`: what is shown; `connection`: the
 * present one, after whose beginning was read. By what the lines say, not by their times: the clock of the host may be set back.
 */
export function mergedLogLines(
  read: readonly LogEntry[],
  before: readonly LogLine[],
  connection: number,
): LogLine[] {
  const known = new Set(read.map(identity))
  const streamed = before.filter((line) => line.connection === connection)
  const last = streamed.findLastIndex((line) => known.has(identity(line)))
  return [...read.map((line, index) => ({ ...line, key: index - read.length })), ...streamed.slice(last + 1)]
}

function identity({ at, level, message }: LogEntry): string {
  return JSON.stringify([at, level, message])
}
