import type { LimitName, PluginLimits } from '../../../schema/plugin/plugin-limits.ts'
import type { Operation } from '../../../schema/worker/operation.ts'
import { countLimitFor, type ForeignCaller } from './foreign-callers.ts'

/** What this plugin may have, and who tells the host when it wants more. */
export interface LimitGuard extends Readonly<PluginLimits> {
  /** Whether there is room for one more; a foreign caller has less. */
  hasRoom(name: LimitName, count: number, foreignCaller?: ForeignCaller): boolean
  /** The plugin has met this limit. Said once. */
  reached(name: LimitName): void
}

export function createLimitGuard(limits: PluginLimits, send: (operation: Operation) => void): LimitGuard {
  const told = new Set<LimitName>()

  function reached(limit: LimitName): void {
    if (told.has(limit)) return
    told.add(limit)
    send({ kind: 'limitReached', limit })
  }

  return {
    ...limits,
    reached,
    hasRoom(name, count, foreignCaller) {
      if (count < countLimitFor(foreignCaller, limits[name])) return true
      // That another plugin has used up its share says nothing of this one.
      if (foreignCaller === undefined) reached(name)
      return false
    },
  }
}
