/** A small generator of pseudo-random numbers from 0 up to 1 (mulberry32), so that a run can be repeated. */
export function createRandom(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function pickFrom<T>(random: () => number, list: readonly T[]): T {
  const picked = list[Math.floor(random() * list.length)]
  if (picked === undefined) throw new RangeError('There is nothing to pick from')
  return picked
}
