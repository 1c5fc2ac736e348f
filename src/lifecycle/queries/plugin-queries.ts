import { quoted } from '../../base/text/cut-text.ts'
import { Problem } from '../../base/problem.ts'
import { requireInstalled } from '../../journal/fold/decide.ts'
import { installedIn, isInstalled } from '../../journal/fold/evolve.ts'
import { allFields } from '../../schema/manifest/field.ts'
import { identifierOf, parseFullId } from '../../schema/names/identifier.ts'
import type { Plugin } from '../../schema/plugin/plugin.ts'
import type { PluginSummary } from '../../schema/worker/plugin-call.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import type { Lifecycle } from '../lifecycle.ts'
import { environmentUse } from '../permissions/plugin-environment.ts'
import type { PluginLogs } from '../running/plugin-logs.ts'
import { pluginsNamed } from '../running/plugin-names.ts'
import { secretPlaces } from '../secrets/former-secrets.ts'
import { createViewCache } from './view-cache.ts'
import { pluginView, statusView, versionViews } from './views.ts'

/** Questions about the plugins that are installed. They change nothing. */
export interface PluginQueries extends Pick<
  Lifecycle,
  'resolveId' | 'list' | 'get' | 'status' | 'document' | 'logs' | 'versions'
> {
  /** Sorted. */
  installedIds(): readonly string[]
  summaries(): PluginSummary[]
}

export function createPluginQueries(context: LifecycleContext, logs: PluginLogs): PluginQueries {
  const { journal, manifests, effects, ownership } = context
  const viewOf = createViewCache((snapshot, surroundings) => {
    const { id } = snapshot.context
    const fields = manifests.fields(id)
    const secrets = secretPlaces(context, id)
    const environment = environmentUse(allFields(fields), context.environment(surroundings.manifest ?? {}))
    return pluginView(snapshot, { ...surroundings, fields, secrets, environment, limits: effects.limits })
  })

  /** They change only with a fact. */
  let installed: { seq: number; ids: readonly string[] } | undefined

  function installedIds(): readonly string[] {
    const { seq } = journal.state
    if (installed?.seq !== seq) {
      installed = {
        seq,
        ids: installedIn(journal.state)
          .map(({ context }) => context.id)
          .sort(),
      }
    }
    return installed.ids
  }

  function get(id: string): Plugin {
    const snapshot = snapshotOfPlugin(context, id)
    requireInstalled(snapshot)
    return viewOf(snapshot, {
      manifest: manifests.get(id),
      resources: effects.resources(id),
      isolation: effects.isolation(id),
      whereabouts: ownership.whereabouts(id),
    })
  }

  return {
    installedIds,
    summaries: () =>
      installedIds().map((id) => {
        const { shortId, name, version, description, enabled } = get(id)
        return { id, shortId, name, version, description, enabled }
      }),
    resolveId(text) {
      const identifier = parseFullId(text)
      if (identifier !== undefined) return identifier.fullId
      const matching = pluginsNamed(installedIds(), text)
      const [id] = matching
      if (id === undefined) {
        throw new Problem('plugin_not_installed', `No installed plugin is called ${quoted(text)}.`)
      }
      if (matching.length > 1) {
        throw new Problem('ambiguous_id', `${text} may be ${matching.join(' or ')}; use the full id.`)
      }
      return id
    },
    list: () => installedIds().map(get),
    get,
    status(id) {
      const snapshot = snapshotOfPlugin(context, id)
      return isInstalled(snapshot)
        ? statusView(snapshot, manifests.get(id), ownership.whereabouts(id))
        : undefined
    },
    async document(id, file) {
      const plugin = get(id)
      const listed = plugin.docs.find((document) => document.file === file)
      if (listed === undefined) {
        throw new Problem('doc_not_found', `The manifest of ${id} lists no document ${quoted(file)}.`)
      }
      return { ...listed, content: await context.directory.readDocument(identifierOf(id), file) }
    },
    async versions(id) {
      const snapshot = snapshotOfPlugin(context, id)
      requireInstalled(snapshot)
      const { kept, trial } = snapshot.context
      const there = await Promise.all(
        kept.map((release) => context.directory.hasKept(identifierOf(id), release)),
      )
      const current = await context.directory.exists(identifierOf(id))
      return {
        versions: versionViews(snapshot, secretPlaces(context, id)).map((view, position) => ({
          ...view,
          available: position === 0 ? current : (there[position - 1] ?? false),
        })),
        trial,
      }
    },
    logs(id, filter) {
      get(id)
      return logs.read(id, filter)
    },
  }
}
