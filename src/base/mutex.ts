import { createDeferred } from './time/deferred.ts'

/** Runs tasks of one key one after another, and tasks of different keys side by side. */
export interface KeyedMutex {
  run<T>(key: string, task: () => Promise<T>): Promise<T>
  /**
   * For a task that has its turn: others have theirs while `work` is done. Settles as `work` does, once it is the turn of
   * the task again, after those that wait by then.
   */
  whileReleased<T>(key: string, work: () => Promise<T>): Promise<T>
  /** Resolves when no task is running or waiting. */
  idle(): Promise<void>
}

/** Of the task that runs. */
interface Turn {
  /** Resolves when the task has ended, which may be some turns later. */
  ended: Promise<unknown>
  release(): void
}

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>()
  const turns = new Map<string, Turn>()
  /** Work of tasks that have given up their turn meanwhile. */
  const released = new Set<Promise<unknown>>()

  /** Resolves when the turn begins; it lasts until the task has ended, or releases it. */
  function turn(key: string, ended: Promise<unknown>): Promise<void> {
    const over = createDeferred<undefined>()
    const release = (): void => over.resolve(undefined)
    const begun = (tails.get(key) ?? Promise.resolve()).then(() => void turns.set(key, { ended, release }))
    void ended.then(release)
    const tail = begun
      .then(() => over.promise)
      .then(() => {
        if (tails.get(key) !== tail) return
        tails.delete(key)
        turns.delete(key)
      })
    tails.set(key, tail)
    return begun
  }

  return {
    run(key, task) {
      const ended = createDeferred<undefined>()
      const end = (): void => ended.resolve(undefined)
      const result = turn(key, ended.promise).then(task)
      result.then(end, end)
      return result
    },
    async whileReleased(key, work) {
      const present = turns.get(key)
      if (present === undefined) throw new Error(`no task has its turn for ${key}`)
      present.release()
      const settled = work().finally(() => turn(key, present.ended))
      released.add(settled)
      try {
        return await settled
      } finally {
        released.delete(settled)
      }
    },
    async idle() {
      while (tails.size > 0 || released.size > 0) await Promise.allSettled([...tails.values(), ...released])
    },
  }
}
