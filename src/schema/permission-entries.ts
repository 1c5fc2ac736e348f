import type { PermissionEntry, PermissionKind, Permissions } from './permissions.ts'

// Without schemas, so that the pages can use it too.

/** Everything that is listed, in order. Null, nothing declared, is everything there is. */
export function permissionEntries(permissions: Permissions | null): PermissionEntry[] {
  if (permissions === null) return [{ kind: 'everything', value: '*' }]
  const { hosts = [], mqtt = {}, plugins = [] } = permissions
  const lists: [PermissionKind, readonly string[]][] = [
    ['host', hosts],
    ['publish', mqtt.publish ?? []],
    ['subscribe', mqtt.subscribe ?? []],
    ['plugin', plugins],
  ]
  return lists.flatMap(([kind, values]) => [...new Set(values)].map((value) => ({ kind, value })))
}
