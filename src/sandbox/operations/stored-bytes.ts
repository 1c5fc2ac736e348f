import { keyValueSize } from '../../schema/worker/operation-size.ts'
import type { KeyValue, Operation } from '../../schema/worker/operation.ts'

/** Bytes of a plugin's key-value store, as the host counts them: a worker that counts otherwise is not believed. */
export interface StoredBytes {
  /** Counts what the operation adds or takes away; false when there is no room for it. */
  admit(operation: Extract<Operation, { kind: 'setKeyValue' }>): boolean
}

/** `entries`: what is stored already. What becomes smaller is always taken. */
export function createStoredBytes(limit: number, entries: Readonly<Record<string, KeyValue>>): StoredBytes {
  const sizes = new Map<string, number>()
  let total = 0
  for (const [key, { value }] of Object.entries(entries)) {
    const size = keyValueSize(key, value)
    sizes.set(key, size)
    total += size
  }
  return {
    admit({ key, entry }) {
      const before = sizes.get(key) ?? 0
      const size = entry === undefined ? 0 : keyValueSize(key, entry.value)
      if (size > before && total - before + size > limit) return false
      total += size - before
      if (size === 0) sizes.delete(key)
      else sizes.set(key, size)
      return true
    },
  }
}
