import { evictOldest } from '../base/evict-oldest.ts'
import { getOrInsert } from '../base/get-or-insert.ts'
import type { Plugin } from '../schema/plugin/plugin.ts'
import { parseFullId } from '../schema/names/identifier.ts'
import { discoveryNode } from '../schema/names/topics.ts'

/** Plugins of which it is remembered how their ids begin: those of a large house, and of others as many as are kept twice over. */
const beginningsLimit = 20_000

/**
 * Whether entities of two plugins may get the same `unique_id`: `@a/b` with `c_d` and `@a/b_c` with `d` are written alike. Takes full
 * ids; a text that is none collides with nothing. Of hundreds of plugins each is compared with each message of another host, so how their
 * ids begin is remembered.
 */
export function createIdCollisionCheck(): (plugin: string, other: string) => boolean {
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

/** Orders plugins for `sort`, the one that was installed first in front. It is the same on all hosts of a fleet. */
export function byInstallationTime(one: Installed, other: Installed): number {
  return one.installedAt.localeCompare(other.installedAt) || (one.id < other.id ? -1 : 1)
}
