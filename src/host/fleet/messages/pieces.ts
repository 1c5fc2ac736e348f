import type { Clock } from '../../../base/time/clock.ts'
import type { StoreConnection } from '../../../fleet/store/connect-store.ts'

/** Bytes of one message between hosts, at most. A server takes 1 MiB by default. */
const mostBytes = 512 * 1024
/** Bytes beside a piece, at most: which one it is, of what, and whose. */
const bytesOfHead = 512

/** Bytes of one message, or piece; what is longer goes in several. More than the server takes is thrown back by its client. */
export function pieceBytes({ info }: Pick<StoreConnection, 'info'>): number {
  return Math.max(1, Math.min(mostBytes, (info?.max_payload ?? Infinity) - bytesOfHead))
}

/** Pieces of one whole: 64 MiB. */
const piecesLimit = 128
/** Milliseconds after which pieces whose rest has not come are forgotten. */
const patience = 30_000

/** Wholes of which not all pieces have come. */
export interface Pieces<T> {
  /** Answers all of them in their order, once this was the last one that was missing. */
  add(id: string, index: number, count: number, piece: T): T[] | undefined
  clear(): void
}

export function createPieces<T>(clock: Clock): Pieces<T> {
  const incomplete = new Map<string, { pieces: Map<number, T>; since: number }>()
  return {
    add(id, index, count, piece) {
      if (!(count >= 1 && count <= piecesLimit && index >= 0 && index < count)) return undefined
      if (count === 1) return [piece]
      const now = clock.monotonic()
      for (const [other, { since }] of incomplete) if (now - since > patience) incomplete.delete(other)
      const known = incomplete.get(id) ?? { pieces: new Map<number, T>(), since: now }
      incomplete.set(id, known)
      known.pieces.set(index, piece)
      if (known.pieces.size < count) return undefined
      incomplete.delete(id)
      return [...known.pieces].sort(([left], [right]) => left - right).map(([, one]) => one)
    },
    clear: () => incomplete.clear(),
  }
}
