/** Tasks of one key, so many at a time; the others wait in order. */
export interface Lanes {
  /** Rejects at once with an `Error` when too many wait already. */
  run<T>(key: string, task: () => Promise<T>): Promise<T>
}

interface Lane {
  running: number
  waiting: (() => void)[]
}

export function createLanes({ width, waiting: limit }: { width: number; waiting: number }): Lanes {
  const lanes = new Map<string, Lane>()

  function take(key: string): Promise<void> | undefined {
    const lane = lanes.get(key) ?? { running: 0, waiting: [] }
    lanes.set(key, lane)
    if (lane.running < width) {
      lane.running += 1
      return undefined
    }
    if (lane.waiting.length >= limit) throw new Error(`too many requests are waiting: at most ${limit}`)
    return new Promise((resolve) => lane.waiting.push(resolve))
  }

  function give(key: string): void {
    const lane = lanes.get(key)
    if (lane === undefined) return
    // The place goes from hand to hand: nobody who comes later gets in between.
    const next = lane.waiting.shift()
    if (next !== undefined) next()
    else {
      lane.running -= 1
      if (lane.running === 0) lanes.delete(key)
    }
  }

  return {
    async run(key, task) {
      await take(key)
      try {
        return await task()
      } finally {
        give(key)
      }
    },
  }
}
