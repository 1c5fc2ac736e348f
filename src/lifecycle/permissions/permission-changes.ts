import { permissionEntries } from '../../schema/manifest/permission-entries.ts'
import type { PermissionEntry, Permissions } from '../../schema/manifest/permissions.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { namesRoot, permissionCovers } from '../../schema/manifest/topic-rights.ts'
import { hostCovers } from './host-pattern.ts'
import { resolveEntry } from './resolve-permissions.ts'

/** What one version of a plugin may do that another may not, with the same configuration on the same host. Pure. */

/** What a manifest allows its plugin, here and now. */
export interface Grant {
  /** Null when nothing is declared, which is everything. */
  permissions: Permissions | null
  /** The effective configuration, for placeholders. */
  config: Config
  /** Variables of the host that its settings may be read from. */
  variables: readonly string[]
}

export interface PermissionChanges {
  added: PermissionEntry[]
  removed: PermissionEntry[]
}

/** `before` is undefined when nothing is installed: then all is told as the manifest has it. */
export function permissionChanges(before: Grant | undefined, after: Grant): PermissionChanges {
  if (before === undefined)
    return { added: permissionEntries(after.permissions, after.variables), removed: [] }
  const [had, has] = [resolved(before), resolved(after)]
  return { added: beyond(has, had), removed: beyond(had, has) }
}

interface ResolvedEntry {
  /** As the manifest has it: that is what people are told. */
  listed: PermissionEntry
  /** What it comes to, which is what is compared. */
  entry: PermissionEntry
}

function resolved({ permissions, config, variables }: Grant): ResolvedEntry[] {
  return permissionEntries(permissions, variables).flatMap((listed) => {
    const values = resolveEntry(listed, config)
    // Nothing is configured there yet, so nothing is known of it but what it is called.
    if (values.length === 0) return [{ listed, entry: listed }]
    return values.map((value) => ({ listed, entry: { ...listed, value } }))
  })
}

/** Pairs of entries that are compared by what they mean; each takes some microseconds. */
const comparedPairs = 100_000

function beyond(entries: readonly ResolvedEntry[], others: readonly ResolvedEntry[]): PermissionEntry[] {
  // Of more the same is the same, and all else is told: rather once too often than not.
  const isFew = entries.length * others.length <= comparedPairs
  const compared = isFew ? others : others.filter(({ entry }) => isOfAll(entry))
  const known = new Set(others.map(({ entry }) => textOf(entry)))
  const more = entries
    .filter(({ entry }) => !known.has(textOf(entry)) && !compared.some((other) => covers(other.entry, entry)))
    .map(({ listed }) => listed)
  return [...new Set(more)]
}

const textOf = ({ kind, value }: PermissionEntry): string => `${kind} ${value}`

const isOfAll = (entry: PermissionEntry): boolean => entry.kind === 'everything' || isEverything(entry)

function covers(wide: PermissionEntry, narrow: PermissionEntry): boolean {
  // What is read of the environment is told by name, even of a plugin that may do everything; and without permissions
  // it may not set what another plugin has.
  if (wide.kind === 'everything')
    return narrow.kind !== 'environment' && (narrow.kind !== 'publish' || !namesRoot(narrow.value))
  if (wide.kind !== narrow.kind) return false
  if (wide.value === narrow.value) return true
  if (wide.kind === 'environment') return false
  if (isEverything(wide)) return true
  if (isOpen(wide.value) || isOpen(narrow.value)) return false
  if (wide.kind === 'host') return hostCovers(wide.value, narrow.value)
  if (wide.kind === 'plugin') return pluginMatches(wide.value, narrow.value)
  if (wide.kind === 'serial') return false
  if (wide.kind === 'discovery') return nameMatches(wide.value, narrow.value)
  return permissionCovers(wide.value, narrow.value)
}

function isEverything({ kind, value }: PermissionEntry): boolean {
  return value === '*' && kind !== 'publish' && kind !== 'subscribe'
}

function isOpen(value: string): boolean {
  return value.includes('${')
}

/** Whether what is looked for on the network is this one or any; names of the DNS have no case. */
export function nameMatches(pattern: string, name: string): boolean {
  return pattern === '*' || pattern.toLowerCase() === name.toLowerCase()
}

/** Whether `@namespace/*`, `*` or an id takes in this plugin. */
export function pluginMatches(pattern: string, id: string): boolean {
  if (pattern === '*' || pattern === id) return true
  return pattern.endsWith('/*') && id.startsWith(pattern.slice(0, -1))
}
