import { isSystemFault } from '../../base/files/system-fault.ts'
import type { Logger } from '../../base/log/log.ts'
import type { PluginDirectory } from '../../repository/repository.ts'
import type { Field } from '../../schema/manifest/field.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import { normaliseFields } from './fields.ts'

/** What is known of the installed plugins' manifests, so that questions are answered without the disk. */
export interface Manifests {
  get(id: string): Manifest | undefined
  fields(id: string): Field[]
  /** The same; undefined when the manifest is not known. */
  knownFields(id: string): Field[] | undefined
  set(id: string, manifest: Manifest): void
  /** Reads the manifest from disk; keeps nothing when it cannot be used. */
  refresh(id: string): Promise<void>
  /** Whether it could not be read as the machine was short of something, or its disk failed: it is to be read again. */
  isUnread(id: string): boolean
  forget(id: string): void
}

export function createManifests(directory: PluginDirectory, logger: Logger): Manifests {
  const known = new Map<string, { manifest: Manifest; fields: Field[] }>()
  const unread = new Set<string>()

  function forget(id: string): void {
    known.delete(id)
    unread.delete(id)
  }

  function set(id: string, manifest: Manifest): void {
    unread.delete(id)
    const before = known.get(id)
    // At each load it is set twice, with the warnings of that load the second time.
    const isSame =
      before?.manifest.configSchema === manifest.configSchema && before?.manifest.config === manifest.config
    known.set(id, { manifest, fields: before && isSame ? before.fields : normaliseFields(manifest) })
  }

  return {
    get: (id) => known.get(id)?.manifest,
    fields: (id) => known.get(id)?.fields ?? [],
    knownFields: (id) => known.get(id)?.fields,
    set,
    async refresh(id) {
      forget(id)
      const identifier = identifierOf(id)
      try {
        set(id, await directory.readManifest(identifier))
      } catch (error) {
        if (isSystemFault(error)) unread.add(id)
        if (!(await directory.exists(identifier))) {
          // As of an entry that was written by hand, or after a restore without the folder of the plugins.
          logger.info('The files of a plugin are not there: they are fetched when it is loaded', {
            plugin: id,
          })
          return
        }
        logger.warn('The manifest of an installed plugin cannot be used', { plugin: id, error })
      }
    },
    isUnread: (id) => unread.has(id),
    forget,
  }
}
