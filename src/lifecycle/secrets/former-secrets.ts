import { pluginIn } from '../../journal/fold/evolve.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Field } from '../../schema/manifest/field.ts'
import { type Place, secretPaths, wholeConfig } from './secret-places.ts'

/**
 * A version may not know a setting any more that the one before it declared a secret. Its value stays with the
 * configuration, for the way back, so the journal remembers that it is one.
 */

/** What is known of plugins; the fields of one are undefined while its manifest is not known. */
export interface KnownPlugins {
  journal: Pick<Journal, 'live'>
  manifests: { knownFields(id: string): readonly Field[] | undefined }
}

/** Where a plugin's configuration holds secrets; undefined while nobody knows its manifest. */
export function secretPlaces({ journal, manifests }: KnownPlugins, id: string): Place | undefined {
  const fields = manifests.knownFields(id)
  return fields && wholeConfig(fields, pluginIn(journal.live, id).context.formerSecrets)
}

/** What a fact says with which the present version goes; nothing where that is known already. */
export function leavingSecrets(
  { journal, manifests }: KnownPlugins,
  id: string,
): { formerSecrets?: string[] } {
  const known = pluginIn(journal.live, id).context.formerSecrets ?? []
  const formerSecrets = secretPaths(manifests.knownFields(id) ?? []).filter((path) => !known.includes(path))
  return formerSecrets.length === 0 ? {} : { formerSecrets }
}
