import { Problem } from '../../../base/problem.ts'
import { type HostState, isInstalled } from '../../../journal/fold/evolve.ts'
import type { Author } from '../../../journal/fold/stamp.ts'
import type { Fact } from '../../../schema/journal/journal-event.ts'
import type { FleetMember } from './fleet-member.ts'

/**
 * In whose name this host writes facts of a plugin down; undefined: in nobody's. Throws `plugin_moving` when another host has
 * it by now, or when this one has it no more: whoever does may be ahead of what is known here.
 */
export function createAuthor(
  member: () => Pick<FleetMember, 'id' | 'holderOf' | 'ownership'> | undefined,
): (plugin: string, state: HostState, facts: readonly Fact[]) => Author | undefined {
  return (plugin, state, facts) => {
    const known = member()
    const snapshot = state.plugins.get(plugin)
    if (known === undefined || snapshot === undefined || !isInstalled(snapshot)) return undefined
    const holder = known.holderOf(plugin)
    // Where it is to be, and nothing else, others may say: nobody has it, or who does cannot write that down.
    const isPlacement = facts.every(({ type }) => type === 'PluginPlaced')
    if (isPlacement && !known.ownership.owns(plugin)) return undefined
    if (
      holder?.host === known.id &&
      known.ownership.owns(plugin) &&
      holder.epoch >= (snapshot.context.epoch ?? 0)
    )
      return holder
    throw new Problem('plugin_moving', `${plugin} is moving to another host; try again in a second.`)
  }
}
