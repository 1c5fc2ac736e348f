/** Bytes that are gathered before they are handed on within the same turn of the event loop. */
const gatheredLimit = 64 * 1024

export interface TurnBatch {
  add(piece: Uint8Array): void
  /** Hands on what has been gathered, at once. */
  flush(): void
}

/** Gathers what comes within a turn of the event loop, and hands it on as one. */
export function createTurnBatch(handOn: (bytes: Uint8Array) => void): TurnBatch {
  let pieces: Uint8Array[] = []
  let bytes = 0
  let scheduled: NodeJS.Immediate | undefined

  function flush(): void {
    if (scheduled === undefined) return
    clearImmediate(scheduled)
    scheduled = undefined
    const gathered = Buffer.concat(pieces, bytes)
    pieces = []
    bytes = 0
    handOn(gathered)
  }

  return {
    add(piece) {
      pieces.push(piece)
      bytes += piece.length
      scheduled ??= setImmediate(flush)
      if (bytes >= gatheredLimit) flush()
    },
    flush,
  }
}
