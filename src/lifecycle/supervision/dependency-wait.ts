import { installedPlugins, type LifecycleContext } from '../context.ts'
import { dependenciesElsewhere } from '../loading/dependencies-elsewhere.ts'
import { loadOrder, requiredPlugins } from '../manifests/dependencies.ts'

/** Plugins that move to this host together come one by one: who needs another one waits for it. */
export interface DependencyWait {
  /** It is to be had by this host, and is not loaded yet. */
  coming(id: string): void
  /** It is loaded, or has failed, or goes again. */
  done(id: string): void
  /** Resolves when what the plugin needs is there; when it takes too long; or when `isOver` says that nobody waits any more. */
  ready(id: string, isOver: () => boolean): Promise<void>
}

/** Milliseconds in which a move of several plugins has commonly come to its end. */
const patience = 5_000

export function createDependencyWait(context: LifecycleContext): DependencyWait {
  const { clock, manifests } = context
  const onTheirWay = new Set<string>()
  const waiting = new Set<() => void>()

  function lacks(id: string): boolean {
    if (dependenciesElsewhere(context, id).length > 0) return true
    const needed = requiredPlugins({ id, dependencies: manifests.get(id)?.dependencies })
    const slow = needed.filter((other) => onTheirWay.has(other))
    if (slow.length === 0) return false
    // Of those that need each other in a circle one has to begin.
    const { order } = loadOrder(installedPlugins(context))
    return slow.some((other) => order.indexOf(other) < order.indexOf(id))
  }

  function look(): void {
    for (const end of waiting) end()
  }

  return {
    coming(id) {
      onTheirWay.add(id)
      look()
    },
    done(id) {
      onTheirWay.delete(id)
      look()
    },
    ready: (id, isOver) =>
      new Promise((resolve) => {
        if (isOver() || !lacks(id)) {
          resolve()
          return
        }
        const timer = clock.schedule(patience, end)
        function end(): void {
          timer.cancel()
          waiting.delete(lookAgain)
          resolve()
        }
        function lookAgain(): void {
          if (isOver() || !lacks(id)) end()
        }
        waiting.add(lookAgain)
      }),
  }
}
