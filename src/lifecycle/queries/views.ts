import { cutText } from '../../base/text/cut-text.ts'
import type { HostState, PluginSnapshot } from '../../journal/fold/evolve.ts'
import type { PluginStateAt, PluginVersion } from '../../schema/api/api.ts'
import { type Field, mapFields } from '../../schema/manifest/field.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { JournalEvent, JournalEventView } from '../../schema/journal/journal-event.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import type { Config, Plugin, PluginError, PluginState, Resources } from '../../schema/plugin/plugin.ts'
import { type PluginLimits, shownLimits, workersOwnLimits } from '../../schema/plugin/plugin-limits.ts'
import type { EnvironmentUse } from '../../schema/parsing/variable-pattern.ts'
import { hiddenValue } from '../../schema/plugin/hidden-value.ts'
import type { PluginStatus } from '../lifecycle.ts'
import type { Whereabouts } from '../ownership.ts'
import { withRows } from '../manifests/rows-of-text.ts'
import { type KnownPlugins, secretPlaces } from '../secrets/former-secrets.ts'
import type { Place } from '../secrets/secret-places.ts'
import { hideSecrets, openDefault, withoutCredentials } from '../secrets/secrets.ts'

/** What callers see: projections of the fold, with secrets hidden. Pure. */

/** What is known of a plugin beside its fold. */
export interface PluginSurroundings {
  /** Undefined when the files are missing or unusable; the plugin is shown all the same. */
  manifest: Manifest | undefined
  fields: Field[]
  /** Where its configuration holds secrets; undefined as `manifest`. */
  secrets: Place | undefined
  environment: EnvironmentUse
  resources: Resources
  /** What it may take for which nothing else is set. */
  limits: PluginLimits
  /** Undefined while it is not loaded. */
  isolation: 'dedicated' | 'shared' | undefined
  whereabouts: Whereabouts
}

/** In these it takes a host: where there is none, it is not loaded. */
const statesOfHosts: ReadonlySet<PluginState> = new Set(['loading', 'running', 'unloading', 'unloaded'])

export function statusView(
  { context, value }: PluginSnapshot,
  manifest: Manifest | undefined,
  { host, epoch, absence }: Whereabouts,
): PluginStatus {
  const { enabled, version } = context
  const isAbsent = absence !== null && enabled && statesOfHosts.has(value)
  return {
    state: isAbsent ? 'unloaded' : value,
    enabled,
    version: version ?? manifest?.version ?? '',
    error: isAbsent ? absence : (context.error ?? untried({ context, value })),
    host,
    epoch,
  }
}

/** Files have taken the place of those that failed, and nothing has been loaded since: in safe mode, or as the disk refused. */
function untried({ value, context }: Pick<PluginSnapshot, 'value' | 'context'>): PluginError | null {
  const { version, updatedAt } = context
  if (value !== 'failed') return null
  const message = `Version ${version} has not been loaded yet: the host is in safe mode, or its disk refused what was to be written down for that. It is loaded when that is over, or when you reload it.`
  return { code: 'not_loaded', message, at: updatedAt ?? '' }
}

export function pluginView(
  snapshot: PluginSnapshot,
  { manifest, fields, secrets, environment, resources, limits, isolation, whereabouts }: PluginSurroundings,
): Plugin {
  const unread = new Set(environment.refused.map(({ key }) => key))
  const { context } = snapshot
  const { fullId, namespace, shortId } = identifierOf(context.id)
  const { state, enabled, version, error, host, epoch } = statusView(snapshot, manifest, whereabouts)
  return {
    id: fullId,
    shortId,
    namespace,
    name: manifest?.name ?? shortId,
    version,
    description: manifest?.description ?? null,
    author: manifest?.author ?? null,
    homepage: manifest?.homepage ?? null,
    license: manifest?.license ?? null,
    tags: manifest?.tags ?? [],
    repository: context.repository,
    enabled,
    state,
    error,
    crashes: context.crashes,
    restart: context.restart,
    trial: context.trial,
    integrity: { intact: context.changedFiles.length === 0, changed: context.changedFiles },
    config: shownConfig(context.config, secrets),
    fields: mapFields(fields, (field, path) => ({
      ...field,
      default: openDefault(field),
      env: unread.has(path) ? null : field.env,
    })),
    exports: manifest?.exports ?? {},
    docs: manifest?.docs ?? [],
    dependencies: manifest?.dependencies ?? [],
    warnings: (manifest?.warnings ?? []).map(({ path, message }) => ({ path, message: cutText(message) })),
    permissions: manifest?.permissions ?? null,
    environment,
    revision: context.revision,
    installedAt: context.installedAt ?? '',
    updatedAt: context.updatedAt ?? '',
    resources,
    limits: {
      effective: shownLimits({ ...limits, ...context.limits }),
      set: context.limits,
      ...(isolation === 'shared' ? { notOwn: [...workersOwnLimits] } : {}),
    },
    limitsReached: context.limitsReached.map(({ limit, value, at }) => ({ limit, value, at })),
    host,
    epoch,
    placement: context.placement ?? {},
    ...(whereabouts.stale ? { stale: true } : {}),
  }
}

/** The present version and those that are kept. */
export function versionViews(
  { context }: PluginSnapshot,
  secrets: Place | undefined,
): Omit<PluginVersion, 'available'>[] {
  const { version, indexVersion, repository, config, installedAt, kept } = context
  // An update and a rollback keep what they replace, so the latest of those went when the present one came.
  const at = kept[0]?.keptAt ?? installedAt ?? ''
  const present = { version: version ?? '', indexVersion, repository, config, keptAt: at }
  return [present, ...kept].map((release, position) => ({
    version: release.version,
    indexVersion: release.indexVersion,
    repository: release.repository,
    current: position === 0,
    at: release.keptAt,
    config: shownConfig(release.config, secrets),
    ...('failed' in release ? { failed: true as const } : {}),
  }))
}

/** Without a manifest nobody knows which fields are marked as secrets, so every text and number is hidden. */
function shownConfig(config: Config, secrets: Place | undefined): Config {
  if (secrets !== undefined) return hideSecrets(secrets, withRows(secrets.fields ?? [], config))
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key, typeof value === 'boolean' ? value : hiddenValue]),
  )
}

/** The event as it may be shown. */
export function eventView(event: JournalEvent, known: KnownPlugins): JournalEventView {
  const { requestKey: _requestKey, host = null, epoch = null, ...rest } = event
  const shown = { ...rest, host, epoch }
  if (shown.type === 'RepositoryAdded') {
    return { ...shown, data: { ...shown.data, url: withoutCredentials(shown.data.url) } }
  }
  if (shown.type === 'PluginHookSecretChanged') {
    return { ...shown, data: { ...shown.data, hookSecret: hiddenValue } }
  }
  if (shown.type !== 'PluginConfigured') return shown
  return { ...shown, data: { config: shownConfig(shown.data.config, secretPlaces(known, shown.plugin)) } }
}

export function statesAt(state: HostState): PluginStateAt[] {
  return [...state.plugins.values()].map((snapshot) => ({
    id: snapshot.context.id,
    state: snapshot.value,
    enabled: snapshot.context.enabled,
    version: snapshot.context.version,
    revision: snapshot.context.revision,
    error: snapshot.context.error ?? untried(snapshot),
  }))
}
