import { getOrInsert } from '../../base/get-or-insert.ts'
import type { GuardedKind } from '../../schema/manifest/permission-refusal.ts'

/** How often plugins were refused what their manifests do not list. */
export interface Refusals {
  /** Answers whether it is worth a line in the log: the first time for each thing, up to a number of things. */
  note(plugin: string, kind: GuardedKind, value: string): boolean
  /** Since the start of the host. */
  counts(): RefusalCount[]
  /** The plugin is loaded anew: its log may tell again. */
  forgive(plugin: string): void
}

export interface RefusalCount {
  plugin: string
  permission: GuardedKind
  count: number
}

/** Things of one plugin that its log tells of; a plugin that tries more is searching. */
export const loggedRefusalsLimit = 100

export function createRefusals(): Refusals {
  const counts = new Map<string, RefusalCount>()
  const told = new Map<string, Set<string>>()
  return {
    note(plugin, kind, value) {
      const key = `${plugin} ${kind}`
      getOrInsert(counts, key, () => ({ plugin, permission: kind, count: 0 })).count += 1
      const things = getOrInsert(told, plugin, () => new Set())
      const thing = `${kind} ${value}`
      if (things.has(thing) || things.size >= loggedRefusalsLimit) return false
      things.add(thing)
      return true
    },
    counts: () => [...counts.values()],
    forgive: (plugin) => void told.delete(plugin),
  }
}
