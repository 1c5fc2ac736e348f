import type { Bus } from '../../bus/bus.ts'
import type { Outside } from '../../outside/outside.ts'
import { valuesAt } from '../../schema/manifest/config-references.ts'
import { allFields } from '../../schema/manifest/field.ts'
import type { SuggestionKind } from '../../schema/manifest/field-definition.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Suggestion } from '../../schema/manifest/suggestion.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { hostsIn } from '../permissions/resolve-permissions.ts'
import type { ObjectRegistry, RegisteredKind } from '../running/object-registry.ts'
import { secretPlaces } from '../secrets/former-secrets.ts'
import { wholeConfig } from '../secrets/secret-places.ts'
import { hideSecrets } from '../secrets/secrets.ts'
import type { PluginQueries } from './plugin-queries.ts'

/** Suggestions of one kind that are told; nobody reads more. */
const suggestionLimit = 1_000

/** Settings of which the host can be offered to others. */
const holdsHost = /host|url|address/i

export interface SuggestionSources {
  queries: Pick<PluginQueries, 'list'>
  registry: ObjectRegistry
  bus: Pick<Bus, 'retainedTopics'>
  outside: Pick<Outside, 'serialPorts'>
}

/** What the host knows that somebody may want to type into a setting (plugin API, section 13, `suggest`). */
export function createSuggestions(
  context: LifecycleContext,
  { queries, registry, bus, outside }: SuggestionSources,
): (kind: SuggestionKind) => Promise<Suggestion[]> {
  const known = (kind: RegisteredKind, valueOf: (plugin: string, id: string) => string): Suggestion[] =>
    queries
      .list()
      .flatMap(({ id: plugin, name }) =>
        [...registry.values(plugin, kind).keys()].map((id) => ({ value: valueOf(plugin, id), label: name })),
      )

  function configuredHosts(): Suggestion[] {
    return queries.list().flatMap(({ id, name }) => {
      const fields = context.manifests.fields(id)
      const secrets = secretPlaces(context, id) ?? wholeConfig([])
      const config = hideSecrets(secrets, snapshotOfPlugin(context, id).context.config)
      return allFields(fields)
        .filter(({ field }) => field.suggest === 'host' || holdsHost.test(field.key))
        .flatMap(({ path }) => hostsIn(valuesAt(config, path)))
        .map((value) => ({ value, label: name }))
    })
  }

  async function all(kind: SuggestionKind): Promise<Suggestion[]> {
    switch (kind) {
      case 'topic':
        return [...bus.retainedTopics()].map((value) => ({ value, label: null }))
      case 'plugin':
        return queries.list().map(({ id, name }) => ({ value: id, label: name }))
      case 'object':
        return known('object', (plugin, path) => {
          const { namespace, shortId } = identifierOf(plugin)
          return `plugins.${namespace}.${shortId}.${path}`
        })
      case 'sensor':
      case 'control':
        return known(kind, (plugin, id) => `${plugin}/${id}`)
      case 'value':
        return [...(await all('sensor')), ...(await all('control'))]
      case 'event':
        return queries
          .list()
          .flatMap(({ exports }) => exports.events ?? [])
          .map(({ name, description = null }) => ({ value: name, label: description }))
      case 'host':
        return configuredHosts()
      case 'serial':
        // Where nobody can say, one can type.
        return (await outside.serialPorts().catch(() => [])).map(({ path, manufacturer = null }) => ({
          value: path,
          label: manufacturer,
        }))
    }
  }

  return async (kind) => joinSuggestions([await all(kind)])
}

/** Each value once, in order, and no more of them than anybody reads. */
export function joinSuggestions(lists: readonly (readonly Suggestion[])[]): Suggestion[] {
  const unique = new Map(lists.flat().map((suggestion) => [suggestion.value, suggestion]))
  return [...unique.values()]
    .sort((one, other) => (one.value < other.value ? -1 : 1))
    .slice(0, suggestionLimit)
}
