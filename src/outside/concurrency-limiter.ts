/** Tasks of one key, so many at a time; the others wait in order. */
export interface ConcurrencyLimiter {
  /** `width`: how many of this key may run. Rejects at once with an `Error` when too many wait already. */
  run<T>(key: string, width: number, task: () => Promise<T>): Promise<T>
}

interface Queue {
  running: number
  waiting: { width: number; begin(): void }[]
}

export function createConcurrencyLimiter({ waiting: limit }: { waiting: number }): ConcurrencyLimiter {
  const queues = new Map<string, Queue>()

  function take(key: string, width: number): Promise<void> | undefined {
    const queue = queues.get(key) ?? { running: 0, waiting: [] }
    queues.set(key, queue)
    if (queue.running < width) {
      queue.running += 1
      return undefined
    }
    if (queue.waiting.length >= limit) throw new Error(`too many requests are waiting: at most ${limit}`)
    return new Promise((begin) => queue.waiting.push({ width, begin }))
  }

  function give(key: string): void {
    const queue = queues.get(key)
    if (queue === undefined) return
    const [next] = queue.waiting
    // The place goes from hand to hand: nobody who comes later gets in between. Where more run than the next one
    // is allowed, because its key may do less by now, the place is given up.
    if (next !== undefined && queue.running <= next.width) {
      queue.waiting.shift()
      next.begin()
    } else {
      queue.running -= 1
      if (queue.running === 0) queues.delete(key)
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
