import { createByteQuota, type Sizes } from '../../schema/worker/byte-quota.ts'
import { keyValueSize } from '../../schema/worker/operation-size.ts'
import type { KeyValue, Operation } from '../../schema/worker/operation.ts'

/**
 * Bytes of a plugin's key-value store, as the host counts them: a worker that counts otherwise is not believed. What is answered
 * counts what an operation adds or takes away; false when there is no room for it. `entries`: what is stored already.
 */
export function createStoredBytes(
  limit: number,
  entries: Readonly<Record<string, KeyValue>>,
): (operation: Extract<Operation, { kind: 'setKeyValue' }>) => boolean {
  const stored = Object.entries(entries).map(([key, { value }]) => [key, keyValueSize(key, value)] as const)
  const sizes: Sizes = new Map(stored)
  const room = createByteQuota(
    limit,
    stored.reduce((sum, [, size]) => sum + size, 0),
  )
  return ({ key, entry }) => room(sizes, key, entry === undefined ? 0 : keyValueSize(key, entry.value))
}
