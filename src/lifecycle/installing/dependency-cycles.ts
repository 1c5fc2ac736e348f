import { withDeadline } from '../../base/time/clock.ts'
import { satisfies } from '../../repository/versions.ts'
import { isOptional } from '../../schema/manifest/named-plugin.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import type { Manifest } from '../../schema/manifest/manifest.ts'
import { installedPlugins, installedVersion, type LifecycleContext } from '../context.ts'
import { parseDependency, type RequiredPlugin, type UnmetDependency } from '../manifests/dependencies.ts'
import { installSource } from '../sources/install-source.ts'

/** How many plugins are looked at: a longer cycle is not worth the requests. */
const mostPlugins = 5
/** Of what a plugin lacks, what is looked at: a manifest may name thousands, and each search asks all repositories. */
const mostSearches = 5
/** Milliseconds: who waits for an answer has been told enough without the cycle. */
const longestSearch = 5_000

/**
 * The unmet dependencies of a plugin, with another message for each that needs this plugin in turn, by what the repositories offer now:
 * plugins that need each other cannot be had one after the other, and "install it first" would lead round and round.
 */
export async function explainCycles(
  context: LifecycleContext,
  id: string,
  manifest: Manifest,
  unmet: UnmetDependency[],
): Promise<UnmetDependency[]> {
  const search = Promise.all(
    unmet.map(async (one, index) => {
      const cycle = index < mostSearches ? await cycleThrough(context, { ...manifest, id }, one) : undefined
      return cycle === undefined ? one : { ...one, message: cycleMessage(cycle) }
    }),
  )
  return withDeadline(context.clock, longestSearch, search, () => new Error('It took too long')).catch(
    () => unmet,
  )
}

interface Wanted {
  id: string
  version: string
}

/** Full ids from the plugin to the one that needs it; undefined: there is no such cycle. */
async function cycleThrough(
  context: LifecycleContext,
  plugin: Wanted,
  { dependency }: UnmetDependency,
): Promise<string[] | undefined> {
  const first = parseDependency(dependency, identifierOf(plugin.id).namespace)?.fullId
  let paths = first === undefined ? [] : [[first]]
  const seen = new Set(paths.flat())
  while (paths.length > 0) {
    const next: string[][] = []
    for (const path of paths) {
      const needed = await neededBy(context, path.at(-1) ?? '')
      if (needed.some((one) => one.fullId === plugin.id && isMet(plugin.version, one)))
        return [plugin.id, ...path]
      for (const { fullId } of needed) {
        if (seen.has(fullId) || seen.size >= mostPlugins) continue
        seen.add(fullId)
        next.push([...path, fullId])
      }
    }
    paths = next
  }
  return undefined
}

function isMet(version: string | undefined, { range }: RequiredPlugin): boolean {
  return version !== undefined && (range === null || satisfies(version, range))
}

/** What the plugin needs, as it is offered, that is not there. Whatever cannot be read needs nothing. */
async function neededBy(context: LifecycleContext, id: string): Promise<RequiredPlugin[]> {
  const versions = new Map(installedPlugins(context).map((plugin) => [plugin.id, plugin.version]))
  const manifest = await offered(context, id)
  return (manifest?.dependencies ?? []).flatMap((dependency) => {
    if (isOptional(dependency)) return []
    const required = parseDependency(dependency, identifierOf(id).namespace)
    return required === undefined || isMet(versions.get(required.fullId), required) ? [] : required
  })
}

async function offered(context: LifecycleContext, id: string): Promise<Manifest | undefined> {
  try {
    const { from } = await installSource(context, id, undefined, { write: false })
    const installed = installedVersion(context, id)
    return (await context.repositories.preview(from, identifierOf(id), { installed })).manifest
  } catch {
    return undefined
  }
}

function cycleMessage(cycle: readonly string[]): string {
  const links = cycle.map((id, index) => `${id} needs ${cycle[(index + 1) % cycle.length]}`)
  return (
    `${links.slice(0, -1).join(', ')}, and ${links.at(-1)}: they need each other in a circle, so none of them can come first. Their authors ` +
    'have to make one of these dependencies optional: {"id": …, "optional": true}.'
  )
}
