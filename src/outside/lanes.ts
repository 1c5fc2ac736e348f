/** Tasks of one key, so many at a time; the others wait in order. */
export interface Lanes {
  /** `width`: how many of this key may run. Rejects at once with an `Error` when too many wait already. */
  run<T>(key: string, width: number, task: () => Promise<T>): Promise<T>
}

interface Lane {
  running: number
  waiting: { width: number; begin(): void }[]
}

export function createLanes({ waiting: limit }: { waiting: number }): Lanes {
  const lanes = new Map<string, Lane>()

  function take(key: string, width: number): Promise<void> | undefined {
    const lane = lanes.get(key) ?? { running: 0, waiting: [] }
    lanes.set(key, lane)
    if (lane.running < width) {
      lane.running += 1
      return undefined
    }
    if (lane.waiting.length >= limit) throw new Error(`too many requests are waiting: at most ${limit}`)
    return new Promise((begin) => lane.waiting.push({ width, begin }))
  }

  function give(key: string): void {
    const lane = lanes.get(key)
    if (lane === undefined) return
    const [next] = lane.waiting
    // The place goes from hand to hand: nobody who comes later gets in between. Where more run than the next one
    // is allowed, because its key may do less by now, the place is given up.
    if (next !== undefined && lane.running <= next.width) {
      lane.waiting.shift()
      next.begin()
    } else {
      lane.running -= 1
      if (lane.running === 0) lanes.delete(key)
    }
  }

  return {
    async run(key, width, task) {
      await take(key, width)
      try {
        return await task()
      } finally {
        give(key)
      }
    },
  }
}
