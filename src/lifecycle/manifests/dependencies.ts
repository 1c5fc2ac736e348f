import type { ProblemDetail } from '../../base/problem.ts'
import { canAgree, isVersionRange, satisfies } from '../../repository/versions.ts'
import { parseFullId } from '../../schema/names/identifier.ts'
import type { Dependency } from '../../schema/manifest/manifest.ts'
import { isOptional, namedPlugin, textOf } from '../../schema/manifest/named-plugin.ts'

/** What plugins need of each other. Pure. */

export interface RequiredPlugin {
  fullId: string
  /** An npm-style version range; null: any version. */
  range: string | null
}

export interface UnmetDependency {
  /** As the manifest writes it. */
  dependency: string
  reason: 'missing' | 'version'
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
}

/** Undefined when it names no plugin or no range. A short id is one of `namespace`, the plugin's own. */
export function parseDependency(dependency: Dependency, namespace: string): RequiredPlugin | undefined {
  const named = namedPlugin(dependency, namespace)
  if (named === undefined || (named.range !== undefined && !isVersionRange(named.range))) return undefined
  return { fullId: named.fullId, range: named.range ?? null }
}

/** Full ids of what a plugin does not work without. */
export function requiredPlugins({
  id,
  dependencies = [],
}: Pick<DependentPlugin, 'id' | 'dependencies'>): string[] {
  return dependencies.flatMap((dependency) => {
    if (isOptional(dependency)) return []
    const other = parseDependency(dependency, namespaceOf(id))?.fullId
    return other === undefined || other === id ? [] : other
  })
}

/** What stands in the way of a plugin, and what only looks like it. */
export interface DependencyVerdict {
  unmet: UnmetDependency[]
  /** Entries that name no plugin: nothing waits for them. */
  warnings: ProblemDetail[]
}

/**
 * What `plugin` needs and `installed` does not have. A name without namespace is one of the plugin's own
 * namespace, if there is such a plugin: installed, or among `offered`, the full ids in repositories.
 */
export function judgeDependencies(
  plugin: DependentPlugin,
  installed: readonly DependentPlugin[],
  offered: ReadonlySet<string>,
): DependencyVerdict {
  const versions = new Map(installed.map(({ id, version }) => [id, version]))
  const verdict: DependencyVerdict = { unmet: [], warnings: [] }
  for (const [index, dependency] of (plugin.dependencies ?? []).entries()) {
    const text = textOf(dependency)
    const required = parseDependency(dependency, namespaceOf(plugin.id))
    const noPlugin = whyNoPlugin(plugin.id, text, required, (id) => versions.has(id) || offered.has(id))
    if (required === undefined || noPlugin !== undefined) {
      const message = `"${text}" ${noPlugin ?? ''}; nothing waits for it`
      verdict.warnings.push({ path: `/dependencies/${index}`, message })
    } else if (!isOptional(dependency)) {
      const version = versions.get(required.fullId)
      verdict.unmet.push(...unmetDependency(plugin.id, text, required, version, installed))
    }
  }
  return verdict
}

/** Full ids of what is named without namespace and not installed. */
export function absentBareNames(plugin: DependentPlugin, installed: readonly { id: string }[]): string[] {
  const ids = new Set(installed.map(({ id }) => id))
  return (plugin.dependencies ?? [])
    .filter((dependency) => isBare(textOf(dependency)))
    .flatMap((dependency) => parseDependency(dependency, namespaceOf(plugin.id))?.fullId ?? [])
    .filter((id) => !ids.has(id))
}

function isBare(text: string): boolean {
  return !text.trim().startsWith('@')
}

/** The rest of a sentence. */
function whyNoPlugin(
  id: string,
  text: string,
  required: RequiredPlugin | undefined,
  exists: (fullId: string) => boolean,
): string | undefined {
  if (required === undefined) return 'is not a plugin id with a version range'
  if (required.fullId === id) return 'is the plugin itself'
  if (!isBare(text) || exists(required.fullId)) return undefined
  return `is not the name of a plugin: there is no ${required.fullId}, installed or in a repository`
}

function unmetDependency(
  id: string,
  dependency: string,
  { fullId, range }: RequiredPlugin,
  version: string | undefined,
  installed: readonly DependentPlugin[],
): UnmetDependency[] {
  if (version === undefined) {
    const message = `${id} needs ${fullId}${range === null ? '' : ` ${range}`}, which is not installed; install it first.`
    return [{ dependency, reason: 'missing', message }]
  }
  if (range === null || satisfies(version, range)) return []
  const holders = installed.flatMap((plugin) => (plugin.id === id ? [] : holderOf(plugin, fullId, range)))
  const held = holders.map(({ wish }) => wish).join(', and ')
  const advice =
    holders.length === 0
      ? `update or roll back ${fullId}.`
      : `${held}, and no version suits all. Find versions of ${[id, ...holders.map((one) => one.id)].join(' and ')} that agree, or uninstall one of them.`
  const message = `${id} needs ${fullId} ${range}, but ${version} is installed; ${advice}`
  return [{ dependency, reason: 'version', message }]
}

/** A plugin that wants only versions of `fullId` outside of `range`; with its wish, in words. */
function holderOf(
  { id, dependencies = [] }: DependentPlugin,
  fullId: string,
  range: string,
): { id: string; wish: string }[] {
  const wishes = dependencies
    .filter((dependency) => !isOptional(dependency))
    .map((dependency) => parseDependency(dependency, namespaceOf(id)))
  const wish = wishes.find(
    (one) => one?.fullId === fullId && one.range !== null && !canAgree(one.range, range),
  )
  return wish === undefined ? [] : [{ id, wish: `${id} needs ${wish.fullId} ${wish.range}` }]
}

function namespaceOf(fullId: string): string {
  return parseFullId(fullId)?.namespace ?? ''
}

/** In which order to load. A cycle is no obstacle, since plugins may look each other up later; it is named. */
export function loadOrder(plugins: readonly DependentPlugin[]): LoadOrder {
  const byId = new Map(plugins.map((plugin) => [plugin.id, plugin]))
  const needs = (id: string): string[] =>
    (byId.get(id)?.dependencies ?? [])
      .map((dependency) => parseDependency(dependency, namespaceOf(id))?.fullId)
      .filter((needed): needed is string => needed !== undefined && byId.has(needed))
  const place = new Map([...byId.keys()].map((id, index) => [id, index]))
  const groups = strongGroups([...byId.keys()], needs).map((group) =>
    group.sort((left, right) => (place.get(left) ?? 0) - (place.get(right) ?? 0)),
  )
  const cycles = groups.filter(([first = '', ...others]) => others.length > 0 || needs(first).includes(first))
  return { order: groups.flat(), cycles }
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
