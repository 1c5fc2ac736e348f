import type { ServerResponse } from 'node:http'
import { createDeferred, type Deferred } from '../../base/time/deferred.ts'

/** Bytes that are copied into one write. */
const joinedLimit = 64 * 1024

/** What is on its way to one client of a stream. */
export interface StreamWriter {
  /** Bytes that the client has not taken yet. */
  readonly waiting: number
  write(piece: Uint8Array): void
  /** Resolves when nothing waits, or nobody does any more. */
  drained(): Promise<void>
  /** Ends the answer behind what waits. */
  end(): void
}

/**
 * One write at a time; what comes meanwhile waits here, and follows in one piece. Node's own queue keeps each piece with the
 * head and the end of its chunk, and makes an error of each when the connection is cut: with thousands of small pieces for
 * each of hundreds of clients that do not read this took seconds. What waits here is shared by all clients.
 */
export function createStreamWriter(response: ServerResponse): StreamWriter {
  let pieces: Uint8Array[] = []
  let queued = 0
  /** Bytes of the write that is under way. */
  let written = 0
  let empty: Deferred<void> | undefined
  response.on('close', forget)

  function send(piece: Uint8Array): void {
    written = piece.length
    response.write(piece, goOn)
  }

  function goOn(): void {
    written = 0
    // To one that is cut off each write would be an error again.
    const next = response.destroyed ? undefined : take()
    if (next === undefined) settle()
    else send(next)
  }

  /** The next ones that fit into a write; one at least. */
  function take(): Uint8Array | undefined {
    let count = 0
    let bytes = 0
    for (const { length } of pieces) {
      if (count > 0 && bytes + length > joinedLimit) break
      count += 1
      bytes += length
    }
    queued -= bytes
    const [first, ...more] = pieces.splice(0, count)
    return first === undefined || more.length === 0 ? first : Buffer.concat([first, ...more], bytes)
  }

  function settle(): void {
    empty?.resolve()
    empty = undefined
  }

  function forget(): void {
    pieces = []
    queued = 0
    settle()
  }

  return {
    get waiting() {
      return written + queued
    },
    write(piece) {
      if (response.destroyed || response.writableEnded) return
      if (written === 0) send(piece)
      else {
        pieces.push(piece)
        queued += piece.length
      }
    },
    drained() {
      if (written === 0 || response.closed) return Promise.resolve()
      return (empty ??= createDeferred()).promise
    },
    end() {
      for (const piece of pieces) response.write(piece)
      forget()
      response.end()
    },
  }
}
