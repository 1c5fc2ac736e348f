import type { Plugin } from '../schema/plugin/plugin.ts'
import { parseFullId } from '../schema/names/identifier.ts'
import { discoveryNode } from '../schema/names/topics.ts'

/** Plugins whose entities may get the same `unique_id`: `@a/b` with `c_d` and `@a/b_c` with `d` are written alike. Pure. */

/** Whether ids of two plugins may be written alike. Full ids; one that is none is like no other. */
export function isAlike(plugin: string, other: string): boolean {
  if (plugin === other) return false
  const [one, another] = [plugin, other].map((id) => {
    const parts = parseFullId(id)
    return parts === undefined ? undefined : `${discoveryNode('', parts)}_`
  })
  return one !== undefined && another !== undefined && (one.startsWith(another) || another.startsWith(one))
}

type Installed = Pick<Plugin, 'id' | 'installedAt'>

/** Order of those that were installed first. It is the same on all hosts of a fleet. */
export function byAge(one: Installed, other: Installed): number {
  return one.installedAt.localeCompare(other.installedAt) || (one.id < other.id ? -1 : 1)
}
