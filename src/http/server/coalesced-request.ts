import { IncomingMessage } from 'node:http'
import { createTurnLimiter } from '../../base/turn-limiter.ts'

/** Bytes of a piece that is handed on as it is, and of smaller ones that are handed on together. */
const largePiece = 1_024
const bytesTogether = 16 * 1_024
/** Pieces of a body after which it goes on in its turn. */
export const piecesInTurn = 1_024
/** Bodies in so many pieces that go on in one turn of the event loop. */
const bodiesInTurn = 1

/**
 * Requests whose body may come byte by byte, in chunks of HTTP, as fast as the network is: each chunk would take a hundred
 * times the memory of a byte, and what listens a microsecond. Small ones that have come together are handed on as one,
 * and of bodies that go on like that few are read in a turn of the event loop, so that everybody else is served in between.
 */
export function coalescedRequests(): typeof IncomingMessage {
  const passTurn = createTurnLimiter(bodiesInTurn)

  return class CoalescedRequest extends IncomingMessage {
    private pieces: Buffer[] = []
    private bytes = 0
    /** Since it has had to wait for its turn. */
    private count = 0

    /** Called by Node for each chunk, and with null at the end. Answers whether more is to be read from the connection. */
    override push(chunk: Buffer | null): boolean {
      if (chunk === null) {
        this.handOn()
        return super.push(null)
      }
      this.count += 1
      const isTooMuch = this.count > piecesInTurn
      if (this.pieces.length === 0 && chunk.length >= largePiece) return super.push(chunk) && !isTooMuch
      // After all that has come with it. Not in the next tick: Node has one after each chunk.
      if (this.pieces.length === 0) setImmediate(() => this.handOn())
      this.pieces.push(chunk)
      this.bytes += chunk.length
      if (this.bytes >= bytesTogether || this.pieces.length >= piecesInTurn) this.handOn()
      return this.readableLength + this.bytes < this.readableHighWaterMark && !isTooMuch
    }

    /** Called by Node when more is wanted. */
    override _read(size: number): void {
      if (this.count <= piecesInTurn) {
        super._read(size)
        return
      }
      this.count = 0
      setImmediate(() => void passTurn().then(() => super._read(size)))
    }

    private handOn(): void {
      const { pieces } = this
      if (pieces.length === 0) return
      this.pieces = []
      this.bytes = 0
      super.push(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))
    }
  }
}
