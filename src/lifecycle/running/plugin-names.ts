import { identifierOf, isIdentifierPart, parseFullId } from '../../schema/names/identifier.ts'

/** What names of plugins and paths of objects mean. Pure: `installed` are the full ids of all installed plugins. */

/** The installed plugins that this id names: one or none of a full id, any number of a short one. */
export function pluginsNamed(installed: readonly string[], id: string): string[] {
  if (parseFullId(id) !== undefined) return installed.filter((plugin) => plugin === id)
  return isIdentifierPart(id) ? installed.filter((plugin) => identifierOf(plugin).shortId === id) : []
}

export interface ObjectAddress {
  /** Full id of the plugin that the path belongs to. */
  plugin: string
  /** Of the object, relative to that plugin. */
  path: string
}

const addressPattern = /^(@[^:]*):(.+)$/s
const pathStart = 'plugins.'

/**
 * Whose object a full path means: of `@ns/id:path` that plugin's, of `plugins.<ns>.<id>.<path>` that of the installed
 * plugin with the shortest short id that fits, whether or not it runs or has such an object. So installing a plugin
 * with a longer id, or switching one off, changes nothing of what a path means.
 */
export function objectAddress(installed: readonly string[], fullPath: string): ObjectAddress | undefined {
  const [, plugin, path] = addressPattern.exec(fullPath) ?? []
  if (plugin !== undefined && path !== undefined) return { plugin, path }
  if (!fullPath.startsWith(pathStart)) return undefined
  let found: (ObjectAddress & { length: number }) | undefined
  for (const candidate of installed) {
    const { namespace, shortId } = identifierOf(candidate)
    const prefix = `${pathStart}${namespace}.${shortId}.`
    if (!fullPath.startsWith(prefix)) continue
    const { length } = shortId
    // Of two short ids of one length the one that begins earlier: namespaces may have dots, too.
    const closer = found === undefined || length < found.length
    const earlier = length === found?.length && prefix.length < fullPath.length - found.path.length
    if (closer || earlier) found = { plugin: candidate, path: fullPath.slice(prefix.length), length }
  }
  return found === undefined ? undefined : { plugin: found.plugin, path: found.path }
}
