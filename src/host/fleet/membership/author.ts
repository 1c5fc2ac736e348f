import { Problem } from '../../../base/problem.ts'
import { type HostState, isInstalled, stateOf } from '../../../journal/fold/evolve.ts'
import type { Author } from '../../../journal/fold/stamp.ts'
import type { FleetMember } from './fleet-member.ts'

/** In whose name this host writes about a plugin. Throws `plugin_moving` when another one has it by now. */
export function createAuthor(
  member: () => FleetMember | undefined,
): (plugin: string, state: HostState) => Author | undefined {
  return (plugin, state) => {
    const known = member()
    const snapshot = state.plugins.get(plugin)
    if (known === undefined || snapshot === undefined || !isInstalled(stateOf(snapshot))) return undefined
    const holder = known.holderOf(plugin)
    // Where nobody has it, whoever comes first may say where it is to be.
    if (holder === undefined && !known.ownership.owns(plugin)) return undefined
    if (
      holder?.host === known.id &&
      known.ownership.owns(plugin) &&
      holder.epoch >= (snapshot.context.epoch ?? 0)
    )
      return holder
    throw new Problem('plugin_moving', `${plugin} is moving to another host; try again in a second.`)
  }
}
