import { pluginIn } from '../../journal/fold/evolve.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Field } from '../../schema/manifest/field.ts'
import { type Place, possibleSecretPaths, secretPaths, wholeConfig } from './secret-places.ts'

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

/** The same: while nobody knows its manifest, all that is stored may be one. */
export function possibleSecretPlaces(known: KnownPlugins, id: string): Place {
  const { formerSecrets = [], config } = pluginIn(known.journal.live, id).context
  return secretPlaces(known, id) ?? wholeConfig([], [...formerSecrets, ...possibleSecretPaths(config)])
}

/** What a fact says with which the present version goes; nothing where that is known already. */
export function leavingSecrets(
  { journal, manifests }: KnownPlugins,
  id: string,
): { formerSecrets?: string[] } {
  const { formerSecrets: known = [], integrity, config } = pluginIn(journal.live, id).context
  // Of files that are lost nobody knows what they declared. An entry written by hand never had any.
  const unknown = Object.keys(integrity).length === 0 ? [] : possibleSecretPaths(config)
  const fields = manifests.knownFields(id)
  const leaving = fields === undefined ? unknown : secretPaths(fields)
  const formerSecrets = leaving.filter((path) => !known.includes(path))
  return formerSecrets.length === 0 ? {} : { formerSecrets }
}
