import type { Config } from '../schema/plugin/plugin.ts'
import type { HostFile } from '../schema/journal/host-file.ts'
import { isJsonObject, type JsonObject } from '../base/text/json.ts'

/**
 * What of the journal and of `.host.json` is encrypted on disk. In memory everything is plain: the fold, the
 * machines and whoever hears of events know nothing of it.
 */
export interface Vault {
  /** To what is written. */
  seal: SecretTransform
  /** The other way round. Throws a sentence that names the value, and `SecretKeyError` without the right key. */
  open: SecretTransform
}

export interface SecretTransform {
  /** The configuration of a plugin. */
  config(plugin: string, config: Config): Config
  /** The secret of a plugin's hooks. */
  hookSecret(plugin: string, text: string): string
  /** The address of a repository. */
  address(repository: string, address: string): string
}

const unchanged: SecretTransform = {
  config: (_plugin, config) => config,
  hookSecret: (_plugin, text) => text,
  address: (_repository, address) => address,
}

/** Takes everything as it stands. */
export const noVault: Vault = { seal: unchanged, open: unchanged }

/** The event as it is written, or as it was. Whatever fact has a `config` or `hookSecret`: it is a plugin's. */
export function changeEvent(transform: SecretTransform, event: JsonObject): JsonObject {
  const { plugin, data } = event
  if (!isJsonObject(data)) return event
  if (typeof plugin === 'string' && isJsonObject(data.config)) {
    const config = transform.config(plugin, data.config) as JsonObject
    return { ...event, data: { ...data, config } }
  }
  if (typeof plugin === 'string' && typeof data.hookSecret === 'string') {
    const hookSecret = transform.hookSecret(plugin, data.hookSecret)
    return { ...event, data: { ...data, hookSecret } }
  }
  if (plugin === null && typeof data.name === 'string' && typeof data.url === 'string') {
    return { ...event, data: { ...data, url: transform.address(data.name, data.url) } }
  }
  return event
}

/** The same for the snapshot. */
export function changeHostFile(transform: SecretTransform, file: HostFile): HostFile {
  const { repositories, plugins } = file
  return {
    ...file,
    ...(repositories === undefined
      ? {}
      : {
          repositories: repositories.map((entry) => ({
            ...entry,
            url: transform.address(entry.name, entry.url),
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
                : { ...entry, config: transform.config(entry.id, entry.config) },
            ),
          },
        }),
  }
}
