/** What a map has for a key; where it has nothing, what is made is kept there. */
export function getOrInsert<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => NoInfer<Value>,
): Value {
  const present = map.get(key)
  if (present !== undefined) return present
  const made: Value = make()
  map.set(key, made)
  return made
}
