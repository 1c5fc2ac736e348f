/** Lets go of what has been in there longest, where there are more than `limit`. Answers its key, if it has. */
export function evictOldest<Key>(
  kept: Pick<Set<Key> | Map<Key, unknown>, 'size' | 'keys' | 'delete'>,
  limit: number,
): Key | undefined {
  if (kept.size <= limit) return undefined
  const [oldest] = kept.keys()
  if (oldest !== undefined) kept.delete(oldest)
  return oldest
}
