import type { ForeignCaller } from './foreign-callers.ts'

/**
 * Which plugin has created each of a plugin's objects, timers or the like, where another one has, through its instance: that one may
 * change and remove it, beside the plugin itself. What a plugin has created itself no other may change.
 */
export interface CreatorRegistry<K> {
  /** Throws when there is one of this key that the foreign caller has not created. `exists`: whether there is one. */
  check(foreignCaller: ForeignCaller, key: K, exists: boolean): void
  record(foreignCaller: ForeignCaller, key: K): void
  forget(key: K): void
  clear(): void
}

/** `what`: a word for one of them, for the error. */
export function createCreatorRegistry<K>(what: string): CreatorRegistry<K> {
  const creators = new Map<K, string>()
  return {
    check(foreignCaller, key, exists) {
      if (foreignCaller === undefined || !exists || creators.get(key) === foreignCaller) return
      throw new Error(`another plugin cannot change the ${what} '${String(key)}', which it has not made`)
    },
    record(foreignCaller, key) {
      if (foreignCaller === undefined) creators.delete(key)
      else creators.set(key, foreignCaller)
    },
    forget: (key) => void creators.delete(key),
    clear: () => creators.clear(),
  }
}
