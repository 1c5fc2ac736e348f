import type { Parcel } from '../../../schema/plugin-call.ts'
import type { LuaValue } from '../lua/lua-value.ts'

/** Bytes of calls that wait for one plugin, as many as of deliveries that wait for this one. */
export const waitingBytesLimit = 4 * 1024 * 1024
/** Bytes that a call takes besides its arguments, roughly. */
const callOverhead = 128

/** A call of a function of another plugin that nobody here waits for. */
export interface LaterCall {
  /** Number of the isolate that the function belongs to. */
  owner: number
  parcel: Parcel
  /** What the parcel refers to: it has to be there until the parcel has gone. */
  kept: readonly LuaValue[]
  /** Sends it; `settled` is called once, later. Answers how to take that back. */
  send(settled: () => void): () => void
  /** It will not be sent after all. */
  discard(): void
}

/**
 * Calls of other plugins' functions, a line for each plugin: one call is under way in each, so they come in order, and
 * whoever is slow holds up nobody but itself.
 */
export interface CallbackLines {
  /** False when too much waits in its line; then it is discarded. */
  add(call: LaterCall): boolean
  /** The plugin has ended. */
  end(owner: number): void
  close(): void
}

interface Line {
  waiting: LaterCall[]
  bytes: number
  takeBack: (() => void) | undefined
}

export function createCallbackLines(): CallbackLines {
  const lines = new Map<number, Line>()
  const costOf = ({ parcel }: LaterCall): number => callOverhead + parcel.body.byteLength

  function advance(owner: number, line: Line): void {
    const next = line.waiting.shift()
    if (next === undefined) {
      lines.delete(owner)
      return
    }
    line.bytes -= costOf(next)
    line.takeBack = next.send(() => {
      if (lines.get(owner) === line) advance(owner, line)
    })
  }

  function end(owner: number): void {
    const line = lines.get(owner)
    lines.delete(owner)
    line?.takeBack?.()
    for (const call of line?.waiting ?? []) call.discard()
  }

  return {
    end,
    add(call) {
      const line = lines.get(call.owner)
      if (line === undefined) {
        const begun: Line = { waiting: [call], bytes: costOf(call), takeBack: undefined }
        lines.set(call.owner, begun)
        advance(call.owner, begun)
        return true
      }
      // One waits always: a single large one has to come through.
      if (line.waiting.length > 0 && line.bytes + costOf(call) > waitingBytesLimit) {
        call.discard()
        return false
      }
      line.waiting.push(call)
      line.bytes += costOf(call)
      return true
    },
    close() {
      for (const owner of [...lines.keys()]) end(owner)
    },
  }
}
