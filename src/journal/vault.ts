import type { Config } from '../schema/plugin/plugin.ts'
import type { HostFile } from '../schema/journal/host-file.ts'
import { isJsonObject, type JsonObject } from '../base/text/json.ts'

/**
 * What of the journal and of `.host.json` is encrypted on disk. In memory everything is plain: the fold, the
 * machines and whoever hears of events know nothing of it.
 */
export interface Vault {
  /** The configuration of a plugin as it is written. */
  sealConfig(plugin: string, config: Config): Config
  /** The other way round. Throws a sentence that names the key, and `SecretKeyError` without the right key. */
  openConfig(plugin: string, config: Config): Config
  /** Another secret of a plugin's, by its name. */
  sealSecret(plugin: string, name: string, text: string): string
  openSecret(plugin: string, name: string, text: string): string
  /** The address of a repository. */
  sealAddress(repository: string, address: string): string
  openAddress(repository: string, address: string): string
}

/** Takes everything as it stands. */
export const noVault: Vault = {
  sealConfig: (_plugin, config) => config,
  openConfig: (_plugin, config) => config,
  sealSecret: (_plugin, _name, text) => text,
  openSecret: (_plugin, _name, text) => text,
  sealAddress: (_repository, address) => address,
  openAddress: (_repository, address) => address,
}

type Direction = 'seal' | 'open'

/** The event as it is written, or as it was. Whatever fact has a `config` or `hookSecret`: it is a plugin's. */
export function changeEvent(vault: Vault, direction: Direction, event: JsonObject): JsonObject {
  const { plugin, data } = event
  if (!isJsonObject(data)) return event
  if (typeof plugin === 'string' && isJsonObject(data.config)) {
    const config = vault[`${direction}Config`](plugin, data.config) as JsonObject
    return { ...event, data: { ...data, config } }
  }
  if (typeof plugin === 'string' && typeof data.hookSecret === 'string') {
    const hookSecret = vault[`${direction}Secret`](plugin, 'hookSecret', data.hookSecret)
    return { ...event, data: { ...data, hookSecret } }
  }
  if (plugin === null && typeof data.name === 'string' && typeof data.url === 'string') {
    return { ...event, data: { ...data, url: vault[`${direction}Address`](data.name, data.url) } }
  }
  return event
}

/** The same for the snapshot. */
export function changeHostFile(vault: Vault, direction: Direction, file: HostFile): HostFile {
  const { repositories, plugins } = file
  return {
    ...file,
    ...(repositories === undefined
      ? {}
      : {
          repositories: repositories.map((entry) => ({
            ...entry,
            url: vault[`${direction}Address`](entry.name, entry.url),
          })),
        }),
    ...(plugins?.installed === undefined
      ? {}
      : {
          plugins: {
            ...plugins,
            installed: plugins.installed.map((entry) =>
              entry.config === undefined
                ? entry
                : { ...entry, config: vault[`${direction}Config`](entry.id, entry.config) },
            ),
          },
        }),
  }
}
