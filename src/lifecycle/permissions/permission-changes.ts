import { filterCovers } from '../../base/topic-filter.ts'
import { type PermissionEntry, permissionEntries, type Permissions } from '../../schema/permissions.ts'
import { hostCovers } from './host-pattern.ts'

/** What one version of a plugin may do that another may not. Pure. */

export interface PermissionChanges {
  added: PermissionEntry[]
  removed: PermissionEntry[]
}

/** `before` is undefined when nothing is installed; null when nothing is declared, which is everything. */
export function permissionChanges(
  before: Permissions | null | undefined,
  after: Permissions | null,
): PermissionChanges {
  const had = before === undefined ? [] : permissionEntries(before)
  const has = permissionEntries(after)
  return { added: beyond(has, had), removed: beyond(had, has) }
}

function beyond(entries: readonly PermissionEntry[], others: readonly PermissionEntry[]): PermissionEntry[] {
  return entries.filter((entry) => !others.some((other) => covers(other, entry)))
}

function covers(wide: PermissionEntry, narrow: PermissionEntry): boolean {
  if (wide.kind === 'everything') return true
  if (wide.kind !== narrow.kind) return false
  if (wide.value === narrow.value || wide.value === anything(wide)) return true
  // What is configured may be anything, so nothing is known of it but that it is the same.
  if (isOpen(wide.value) || isOpen(narrow.value)) return false
  if (wide.kind === 'host') return hostCovers(wide.value, narrow.value)
  if (wide.kind === 'plugin') return pluginMatches(wide.value, narrow.value)
  return filterCovers(wide.value, narrow.value)
}

function anything({ kind }: PermissionEntry): string {
  return kind === 'publish' || kind === 'subscribe' ? '#' : '*'
}

function isOpen(value: string): boolean {
  return value.includes('${')
}

/** Whether `@namespace/*`, `*` or an id takes in this plugin. */
export function pluginMatches(pattern: string, id: string): boolean {
  if (pattern === '*' || pattern === id) return true
  return pattern.endsWith('/*') && id.startsWith(pattern.slice(0, -1))
}
