/** Bytes that things take, by their keys. */
export type Sizes = Map<string, number>

/**
 * Counts bytes under a limit, of which `total` are there already. Answers whether there is room for something of this size
 * in place of what is there: what becomes smaller is always taken. Of size 0 it is gone.
 */
export function createByteQuota(
  limit: number,
  total = 0,
): (sizes: Sizes, key: string, size: number) => boolean {
  let taken = total
  return (sizes, key, size) => {
    const before = sizes.get(key) ?? 0
    if (size > before && taken - before + size > limit) return false
    taken += size - before
    if (size === 0) sizes.delete(key)
    else if (size !== before) sizes.set(key, size)
    return true
  }
}
