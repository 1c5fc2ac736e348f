import { isVersionRange, satisfies } from '../repository/versions.ts'
import { parseFullId } from '../schema/identifier.ts'
import type { Dependency } from '../schema/manifest.ts'

/** What plugins need of each other. Pure. */

export interface RequiredPlugin {
  fullId: string
  /** An npm-style version range; null: any version. */
  range: string | null
}

export interface UnmetDependency {
  /** As the manifest writes it. */
  dependency: string
  reason: 'invalid' | 'missing' | 'version'
  /** A sentence that says what to do. */
  message: string
}

export interface DependentPlugin {
  /** Full id. */
  id: string
  version: string
  dependencies?: readonly Dependency[] | undefined
}

export interface LoadOrder {
  /** Every plugin once: what a plugin needs comes before it, otherwise as given. */
  order: string[]
  /** Groups of plugins that need each other; within a group the given order counts. */
  cycles: string[][]
  /** By plugin: what is missing, of the wrong version, or no dependency at all. */
  unmet: Map<string, UnmetDependency[]>
}

function textOf(dependency: Dependency): string {
  if (typeof dependency === 'string') return dependency
  return dependency.version === undefined ? dependency.id : `${dependency.id}@${dependency.version}`
}

/** Undefined when it names no plugin or no range. A short id is one of `namespace`, the plugin's own. */
export function parseDependency(dependency: Dependency, namespace: string): RequiredPlugin | undefined {
  const [, id, range] = /^(@?[^@]+)(?:@(.*))?$/s.exec(textOf(dependency).trim()) ?? []
  if (id === undefined) return undefined
  const identifier = parseFullId(id.startsWith('@') ? id : `@${namespace}/${id}`)
  if (identifier === undefined || (range !== undefined && !isVersionRange(range))) return undefined
  return { fullId: identifier.fullId, range: range ?? null }
}

/** What `plugin` needs and `installed` does not have. */
export function unmetDependencies(
  plugin: DependentPlugin,
  installed: readonly { id: string; version: string }[],
): UnmetDependency[] {
  const versions = new Map(installed.map(({ id, version }) => [id, version]))
  return (plugin.dependencies ?? []).flatMap((dependency) => unmetDependency(plugin, dependency, versions))
}

function unmetDependency(
  plugin: DependentPlugin,
  dependency: Dependency,
  versions: ReadonlyMap<string, string>,
): UnmetDependency[] {
  const text = textOf(dependency)
  const required = parseDependency(dependency, namespaceOf(plugin.id))
  if (required === undefined) {
    const message = `${plugin.id} depends on "${text}", which is not a plugin id with a version range; its author has to correct that.`
    return [{ dependency: text, reason: 'invalid', message }]
  }
  const { fullId, range } = required
  const version = versions.get(fullId)
  if (version === undefined) {
    const message = `${plugin.id} needs ${fullId}${range === null ? '' : ` ${range}`}, which is not installed; install it first.`
    return [{ dependency: text, reason: 'missing', message }]
  }
  if (range === null || satisfies(version, range)) return []
  const message = `${plugin.id} needs ${fullId} ${range}, but ${version} is installed; update or roll back ${fullId}.`
  return [{ dependency: text, reason: 'version', message }]
}

function namespaceOf(fullId: string): string {
  return parseFullId(fullId)?.namespace ?? ''
}

/** In which order to load. A cycle is no obstacle, since plugins may look each other up later; it is named. */
export function loadOrder(plugins: readonly DependentPlugin[]): LoadOrder {
  const byId = new Map(plugins.map((plugin) => [plugin.id, plugin]))
  const unmet = new Map<string, UnmetDependency[]>()
  for (const plugin of byId.values()) {
    const problems = unmetDependencies(plugin, plugins)
    if (problems.length > 0) unmet.set(plugin.id, problems)
  }
  const needs = (id: string): string[] =>
    (byId.get(id)?.dependencies ?? [])
      .map((dependency) => parseDependency(dependency, namespaceOf(id))?.fullId)
      .filter((needed): needed is string => needed !== undefined && byId.has(needed))
  const place = new Map([...byId.keys()].map((id, index) => [id, index]))
  const groups = strongGroups([...byId.keys()], needs).map((group) =>
    group.sort((left, right) => (place.get(left) ?? 0) - (place.get(right) ?? 0)),
  )
  const cycles = groups.filter(([first = '', ...others]) => others.length > 0 || needs(first).includes(first))
  return { order: groups.flat(), cycles, unmet }
}

/** Groups of ids that reach each other (Tarjan); a group comes after the groups it needs. */
function strongGroups(ids: readonly string[], needs: (id: string) => string[]): string[][] {
  const groups: string[][] = []
  const indexes = new Map<string, number>()
  const stack: string[] = []
  const onStack = new Set<string>()
  const visit = (id: string): number => {
    const index = indexes.size
    let lowest = index
    indexes.set(id, index)
    stack.push(id)
    onStack.add(id)
    for (const needed of needs(id)) {
      const seen = indexes.get(needed)
      if (seen === undefined) lowest = Math.min(lowest, visit(needed))
      else if (onStack.has(needed)) lowest = Math.min(lowest, seen)
    }
    if (lowest === index) {
      const group = stack.splice(stack.indexOf(id))
      for (const member of group) onStack.delete(member)
      groups.push(group)
    }
    return lowest
  }
  for (const id of ids) if (!indexes.has(id)) visit(id)
  return groups
}
