import { join } from 'node:path'
import type { FileSystem } from '../base/files/file-system.ts'
import type { Logger } from '../base/log/log.ts'
import { storeFiles } from '../lifecycle/stores/key-value-file.ts'
import { pluginOfName } from '../schema/names/identifier.ts'

/** Plugins that are named one by one; of more there is a number. */
const mostNamed = 20

/**
 * Warns of plugins and stored values in a directory that has neither journal nor `.host.json`: nothing names them any more. They are no
 * obstacle, as somebody may have put plugins there for a first start.
 */
export async function warnOfOrphanedPlugins(
  files: FileSystem,
  directory: string,
  logger: Logger,
): Promise<void> {
  // Whoever needs what cannot be read says so.
  const plugins = pluginsIn(await files.readdir(join(directory, 'plugins')).catch(() => []))
  const storedValues = pluginsIn(await storeFiles(files, directory).catch(() => []))
  if (plugins.length + storedValues.length === 0) return
  logger.warn(
    'There is no journal and no .host.json, so the history begins anew, and none of the plugins whose files or stored values are ' +
      'here is installed. If both were lost, stop the host, and put .host.json and all files .host.journal* back from a backup in ' +
      'place of the new ones. Otherwise install what you want: a plugin finds its stored values again, its settings are gone',
    { ...told('plugins', plugins), ...told('storedValues', storedValues) },
  )
}

function pluginsIn(names: readonly string[]): string[] {
  return names.flatMap((name) => pluginOfName(name) ?? []).sort()
}

function told(name: string, ids: readonly string[]): Record<string, unknown> {
  if (ids.length === 0) return {}
  return { [name]: ids.length > mostNamed ? [...ids.slice(0, mostNamed), `${ids.length} in all`] : ids }
}
