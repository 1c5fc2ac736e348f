import type { Manifest } from '../../schema/manifest/manifest.ts'
import type { Config } from '../../schema/plugin/plugin.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { checkConfig } from '../manifests/config-rules.ts'
import { normaliseFields } from '../manifests/fields.ts'
import { withRows } from '../manifests/rows-of-text.ts'
import { secretPlaces } from '../secrets/former-secrets.ts'
import {
  type RestoredConfig,
  restoreHidden,
  restoreSecrets,
  withoutPlaceholders,
} from '../secrets/restore-secrets.ts'
import { wholeConfig } from '../secrets/secret-places.ts'

/** A plugin's configuration as somebody has written it who sees placeholders, with what they stand for. */
export function restoreConfig(context: LifecycleContext, id: string, incoming: Config): RestoredConfig {
  const before = snapshotOfPlugin(context, id).context.config
  const whole = secretPlaces(context, id)
  if (whole === undefined) return { config: restoreHidden(incoming, before), errors: [] }
  const stored = withRows(context.manifests.fields(id), before)
  return restoreSecrets(whole, incoming, { ...stored, ...rowsOfTexts(context, id, incoming, stored) })
}

/**
 * Who sends rows in place of a text of which not all lines can be read has seen those that the plugin gets, with what fills
 * them. The placeholder alone stands for the text.
 */
function rowsOfTexts(context: LifecycleContext, id: string, incoming: Config, stored: Config): Config {
  const keys = Object.keys(stored).filter(
    (key) => typeof stored[key] === 'string' && Array.isArray(incoming[key]),
  )
  if (keys.length === 0) return {}
  const { manifests, environment } = context
  const { effective } = checkConfig(manifests.fields(id), stored, environment(manifests.get(id) ?? {}))
  return Object.fromEntries(keys.map((key) => [key, effective[key]]))
}

/** The same of a plugin for which nothing is stored yet; undefined: nobody knows its manifest. */
export function openConfig(
  manifest: Manifest | undefined,
  incoming: Config,
): ReturnType<typeof withoutPlaceholders> {
  return withoutPlaceholders(manifest && wholeConfig(normaliseFields(manifest)), incoming)
}
