/** What happens in a simulation, in the order of its time; and chance, from a seed. */

export interface Scheduler {
  /** Milliseconds of true time since the beginning, with fractions. */
  readonly now: number
  /** Runs it after so many milliseconds. */
  after(delay: number, run: () => void): void
  /** From 0 to below 1. */
  random(): number
  /** From `low` to below `high`. */
  between(low: number, high: number): number
  chance(probability: number): boolean
  pick<T>(list: readonly T[]): T
  /** Lets time pass up to there. */
  runUntil(end: number): void
}

interface Entry {
  at: number
  order: number
  run: () => void
}

export function createScheduler(seed: number): Scheduler {
  const heap: Entry[] = []
  let now = 0
  let order = 0
  let state = seed >>> 0

  const isBefore = (left: Entry, right: Entry): boolean =>
    left.at < right.at || (left.at === right.at && left.order < right.order)

  function push(entry: Entry): void {
    let index = heap.length
    heap.push(entry)
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent] as Entry
      if (!isBefore(entry, above)) break
      heap[index] = above
      index = parent
    }
    heap[index] = entry
  }

  function pop(): Entry {
    const first = heap[0] as Entry
    const last = heap.pop() as Entry
    if (heap.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Entry, heap[child] as Entry)) child += 1
      const below = heap[child] as Entry
      if (!isBefore(below, last)) break
      heap[index] = below
      index = child
    }
    heap[index] = last
    return first
  }

  // Mulberry32.
  function random(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  const between = (low: number, high: number): number => low + random() * (high - low)
  return {
    get now() {
      return now
    },
    after(delay, run) {
      order += 1
      push({ at: now + delay, order, run })
    },
    random,
    between,
    chance: (probability) => random() < probability,
    pick: <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T,
    runUntil(end) {
      while (heap[0] !== undefined && heap[0].at <= end) {
        const entry = pop()
        now = entry.at
        entry.run()
      }
      now = end
    },
  }
}
