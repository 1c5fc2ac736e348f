/** Packets that the broker takes of one client at a time: one or two milliseconds. */
export const packetsAtOnce = 256
/** Times that its messages go to somebody, or wait for somebody, behind which nothing more of a client is taken at that time: ten to twenty milliseconds. */
export const deliveriesAtOnce = 2_000
/** So many take as long as a packet. */
export const deliveriesAsPacket = 2
/** Packets that it takes of all clients in one turn of the event loop, before everybody else is served. */
const packetsInTurn = 1_024

/**
 * Shares the reading of a broker's clients: as fast as they come while there is time in the turn, then in their order, so many
 * packets of each at a time. The smallest take two bytes, and a connection brings 64 KiB at once.
 */
export interface ReadScheduler {
  /** Whether packets may be read now; if not, `goOn` is called when they may, and the next question is answered with yes. */
  mayRead(goOn: () => void): boolean
  /** Has `goOn` called when packets may be read, after all that wait already. */
  wait(goOn: () => void): void
  /** So many have been. */
  hasRead(packets: number): void
}

export function createReadScheduler(): ReadScheduler {
  let left = packetsInTurn
  const waiting = new Set<() => void>()
  /** Whose turn it is. */
  let next: (() => void) | undefined
  let scheduled: NodeJS.Immediate | undefined

  function schedule(): void {
    scheduled ??= setImmediate(turn)
  }

  function turn(): void {
    scheduled = undefined
    left = packetsInTurn
    // Who wants to go on at once comes after all others.
    for (const goOn of waiting) {
      if (left <= 0) break
      waiting.delete(goOn)
      next = goOn
      goOn()
      next = undefined
    }
    if (waiting.size > 0) schedule()
  }

  function wait(goOn: () => void): void {
    waiting.add(goOn)
    schedule()
  }

  return {
    wait,
    mayRead(goOn) {
      const isNext = next === goOn
      next = undefined
      if (isNext || (left > 0 && waiting.size === 0)) return true
      wait(goOn)
      return false
    },
    hasRead(packets) {
      left -= packets
      schedule()
    },
  }
}
