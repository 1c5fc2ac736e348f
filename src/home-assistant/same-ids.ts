import { evictOldest } from '../base/evict-oldest.ts'
import { getOrInsert } from '../base/get-or-insert.ts'
import type { Plugin } from '../schema/plugin/plugin.ts'
import { parseFullId } from '../schema/names/identifier.ts'
import { discoveryNode } from '../schema/names/topics.ts'

/** Plugins whose entities may get the same `unique_id`: `@a/b` with `c_d` and `@a/b_c` with `d` are written alike. */

/** Plugins of which it is remembered how their ids begin: those of a large house, and of others as many as are kept twice over. */
const beginningsLimit = 20_000

/**
 * Whether ids of two plugins may be written alike. Full ids; one that is none is like no other. Of hundreds of plugins each is compared
 * with each message of another host, so how their ids begin is remembered.
 */
export function createIsAlike(): (plugin: string, other: string) => boolean {
  const beginnings = new Map<string, string>()
  function beginningOf(plugin: string): string {
    const parts = parseFullId(plugin)
    return parts === undefined ? '' : `${discoveryNode('', parts)}_`
  }
  return (plugin, other) => {
    if (plugin === other) return false
    const one = getOrInsert(beginnings, plugin, () => beginningOf(plugin))
    const another = getOrInsert(beginnings, other, () => beginningOf(other))
    evictOldest(beginnings, beginningsLimit)
    return one !== '' && another !== '' && (one.startsWith(another) || another.startsWith(one))
  }
}

type Installed = Pick<Plugin, 'id' | 'installedAt'>

/** Order of those that were installed first. It is the same on all hosts of a fleet. */
export function byAge(one: Installed, other: Installed): number {
  return one.installedAt.localeCompare(other.installedAt) || (one.id < other.id ? -1 : 1)
}
