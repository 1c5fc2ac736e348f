import { createHeldValues } from '../../fleet/values/held-values.ts'
import type { ValueBucket } from '../../fleet/values/value-bucket.ts'
import type { KeyValueEntry } from '../../schema/files/key-value-file.ts'

/**
 * Imports the stored values of a plugin that no host of the fleet has held yet. Answers false when one has: theirs are newer. The
 * values of an earlier installation are put aside.
 */
export async function importValues(
  bucket: ValueBucket,
  plugin: string,
  entries: ReadonlyMap<string, KeyValueEntry>,
  isFresh = true,
): Promise<boolean> {
  if (entries.size === 0) return true
  const found = await bucket.record(plugin)
  const epoch = found?.record?.epoch ?? 0
  if (isFresh && epoch > 0) return false
  const isEmpty =
    found?.record !== undefined && found.record.sealed === undefined && found.record.parts === undefined
  if (found !== undefined && epoch > 0 && !isEmpty) await bucket.putAside(plugin, found)
  const record = { version: 1 as const, epoch, write: 'none' }
  const held = createHeldValues(
    ...[bucket, plugin, { revision: found?.revision ?? 0, record }, new Map(entries), false, Date.now],
  )
  return (await held.write()) === 'written'
}
