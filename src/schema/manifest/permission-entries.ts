import type { PermissionEntry, PermissionKind, Permissions } from './permissions.ts'

// Without schemas, so that the pages can use it too.

/**
 * Everything that is listed, in order. Null, nothing declared, is everything there is, but for the environment:
 * what of it is read is always told by name. `variables`: those that the settings read on this host, where that is
 * known.
 */
export function permissionEntries(
  permissions: Permissions | null,
  variables: readonly string[] = permissions?.environment ?? [],
): PermissionEntry[] {
  const { hosts = [], mqtt = {}, plugins = [], hooks, serial = [], discovery = [] } = permissions ?? {}
  const lists: [PermissionKind, readonly string[]][] = [
    ['everything', permissions === null ? ['*'] : []],
    ['host', hosts],
    ['publish', mqtt.publish ?? []],
    ['subscribe', mqtt.subscribe ?? []],
    ['plugin', plugins],
    ['hooks', hooks === undefined ? [] : [hooks]],
    ['serial', serial],
    ['discovery', discovery],
    ['environment', variables],
  ]
  return lists.flatMap(([kind, values]) => [...new Set(values)].map((value) => ({ kind, value })))
}
