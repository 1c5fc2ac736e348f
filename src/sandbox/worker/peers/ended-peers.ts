import { getOrInsert } from '../../../base/get-or-insert.ts'
import type { Reference } from '../../../schema/worker/plugin-call.ts'
import type { PluginLog } from '../plugin-log.ts'

/** Other plugins that have ended, of which something was held, and what is to go with them. */
export interface EndedPeers {
  /** By the number of the isolate. */
  has(owner: number): boolean
  /** False when that is known. */
  end(owner: number): boolean
  /**
   * Calls `remove` when the plugin that the reference belongs to has ended, with a line in the log. Answers how to take
   * that back.
   */
  whenGone(what: string, reference: Reference, remove: () => void): () => void
  clear(): void
}

export function createEndedPeers(log: PluginLog): EndedPeers {
  const gone = new Set<number>()
  const watchers = new Map<number, Set<() => void>>()
  return {
    has: (owner) => gone.has(owner),
    end(owner) {
      if (gone.has(owner)) return false
      gone.add(owner)
      for (const remove of watchers.get(owner) ?? []) remove()
      watchers.delete(owner)
      return true
    },
    whenGone(what, { owner, plugin }, remove) {
      const group = getOrInsert(watchers, owner, () => new Set())
      const watcher = (): void => {
        remove()
        log.write('debug', `${what} was removed: ${plugin}, whose function it calls, is not running`)
      }
      group.add(watcher)
      return () => void group.delete(watcher)
    },
    clear: () => watchers.clear(),
  }
}
