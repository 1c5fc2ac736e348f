/** The name of a plugin where the store has no `@`, and a dot parts names. */

export function pluginKey(plugin: string): string {
  return plugin.slice(1).replaceAll('.', '=2E')
}

export function pluginOfKey(key: string): string {
  return `@${key.replaceAll('=2E', '.')}`
}
