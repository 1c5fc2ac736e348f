import { isInstalled } from '../../journal/fold/evolve.ts'
import { placementText } from '../../schema/plugin/fleet-host.ts'
import { type LifecycleContext, snapshotOfPlugin } from '../context.ts'
import { requiredPlugins } from '../manifests/dependencies.ts'

/**
 * Full ids of plugins that this one needs, that are enabled, and that another host of the fleet has, or none: it would not find them
 * here. Always empty for a host that works by itself.
 */
export function dependenciesElsewhere(context: LifecycleContext, id: string): string[] {
  const { journal, manifests, ownership } = context
  return requiredPlugins({ id, dependencies: manifests.get(id)?.dependencies }).filter((other) => {
    const snapshot = journal.live.plugins.get(other)
    if (snapshot === undefined || !isInstalled(snapshot) || !snapshot.context.enabled) return false
    return !ownership.owns(other)
  })
}

/** Why a plugin cannot be loaded without them, and what to do. */
export function dependenciesElsewhereMessage(
  context: LifecycleContext,
  id: string,
  others: readonly string[],
): string {
  const { host } = context.ownership.whereabouts(id)
  const where = others.map((other) => {
    const { host: its } = context.ownership.whereabouts(other)
    return `${other}, which ${its === null ? 'no host runs' : `runs on the host ${its}`}`
  })
  const placed = [id, ...others].flatMap((plugin) => {
    const text = placementText(snapshotOfPlugin(context, plugin).context.placement)
    return text === undefined ? [] : [`${plugin} on ${text}`]
  })
  const reason = placed.length === 0 ? '' : ` Their placements ask for ${placed.join(', and ')}.`
  return (
    `${id} is on the host ${host ?? 'that loads it'} and needs ${where.join('; and ')}: a plugin runs on the ` +
    `same host as what it needs.${reason} Give them placements that one host is like, which then runs them all.`
  )
}
