/** Places by key: so many of one key are taken at a time, and who finds none waits in order. */
export interface KeyedSemaphore {
  /**
   * Answers how to give the place back, which is to be called once; undefined: too many wait already, or who waited gave up.
   * `width`: how many of this key may be taken. `onWait` is told how to give up when it has to wait, and answers what is to
   * be called when that is over.
   */
  take(key: string, width: number, onWait?: (giveUp: () => void) => () => void): Promise<Leave | undefined>
}

type Leave = () => void

interface Waiting {
  width: number
  begin(): void
}

/** `most`: how many of one key may wait. */
export function createKeyedSemaphore(most = Infinity): KeyedSemaphore {
  const places = new Map<string, { taken: number; waiting: Set<Waiting> }>()

  return {
    async take(key, width, onWait) {
      const place = places.get(key) ?? { taken: 0, waiting: new Set() }
      places.set(key, place)
      const { waiting } = place
      const leave = (): void => {
        const [next] = waiting
        // It goes from hand to hand: nobody who comes later gets in between. Where more are taken than the next one is
        // allowed, because its key may do less by now, it is given up.
        if (next !== undefined && place.taken <= next.width) next.begin()
        else {
          place.taken -= 1
          if (place.taken === 0) places.delete(key)
        }
      }
      if (place.taken < width) {
        place.taken += 1
        return leave
      }
      if (waiting.size >= most) return undefined
      return new Promise((resolve) => {
        const settle = (answer: Leave | undefined): void => {
          waiting.delete(entry)
          stop?.()
          resolve(answer)
        }
        const entry: Waiting = { width, begin: () => settle(leave) }
        waiting.add(entry)
        const stop = onWait?.(() => settle(undefined))
      })
    },
  }
}

/** Lets so many tasks run at a time; the others wait in turn. */
export function createSemaphore(width: number): (task: () => Promise<void>) => Promise<void> {
  const places = createKeyedSemaphore()
  return async (task) => {
    const leave = await places.take('', width)
    try {
      await task()
    } finally {
      leave?.()
    }
  }
}
