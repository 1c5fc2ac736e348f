/** Runs tasks of one key one after another, and tasks of different keys side by side. */
export interface KeyedMutex {
  run<T>(key: string, task: () => Promise<T>): Promise<T>
  /** Resolves when no task is running or waiting. */
  idle(): Promise<void>
}

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>()
  return {
    run(key, task) {
      const previous = tails.get(key) ?? Promise.resolve()
      const result = previous.then(task)
      const tail = result
        .catch(() => undefined)
        .then(() => {
          if (tails.get(key) === tail) tails.delete(key)
        })
      tails.set(key, tail)
      return result
    },
    async idle() {
      while (tails.size > 0) await Promise.all(tails.values())
    },
  }
}
