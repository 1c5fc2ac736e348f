import { createKeyedSemaphore } from '../../base/semaphore.ts'
import { identifierOf } from '../../schema/names/identifier.ts'
import { installedPlugins, type LifecycleContext } from '../context.ts'
import { loadOrder, parseDependency } from '../manifests/dependencies.ts'

/** Plugins that load or unload at the same time: enough to keep the processor busy while others wait for the disk. */
export const pluginsAtOnce = 16

interface OrderOptions {
  /** How many of one queue run at a time. */
  atOnce?: number
  /** Default: all are in the same. */
  queueOf?: (id: string) => Promise<string>
  /** Once this resolves, what has not started does so at once, however many there are. */
  hurry?: Promise<void>
}

/** Each task starts when those of the plugins before it in a chain of dependencies have ended, and there is a place in its queue. */
export async function inDependencyOrder(
  context: LifecycleContext,
  ids: readonly string[],
  task: (id: string) => Promise<void>,
  direction: 'dependencies first' | 'dependents first' = 'dependencies first',
  { atOnce = pluginsAtOnce, queueOf, hurry }: OrderOptions = {},
): Promise<void> {
  const wanted = new Set(ids)
  const plugins = installedPlugins(context).filter(({ id }) => wanted.has(id))
  const { order, cycles } = loadOrder(plugins)
  for (const cycle of cycles)
    context.logger.warn('Plugins depend on each other in a circle', { plugins: cycle })
  const waiting = direction === 'dependencies first' ? order : order.toReversed()
  const needs = neighbours(plugins, direction)
  const done = new Map<string, Promise<void>>()
  const places = createKeyedSemaphore()
  const inPlace = async (id: string, begin: () => Promise<void>): Promise<void> => {
    const leave = await places.take((await queueOf?.(id)) ?? '', atOnce)
    try {
      await begin()
    } finally {
      leave?.()
    }
  }
  for (const id of waiting) {
    // Only those that come earlier: in a circle somebody has to begin.
    const before = (needs.get(id) ?? []).flatMap((other) => done.get(other) ?? [])
    let begun: Promise<void> | undefined
    const begin = (): Promise<void> => (begun ??= context.mutex.run(id, () => task(id)))
    const inTurn = Promise.all(before).then(() => inPlace(id, begin))
    done.set(id, hurry === undefined ? inTurn : Promise.race([inTurn, hurry.then(begin)]))
  }
  await Promise.all(done.values())
}

/** For each plugin those that have to be ready, or gone, before it. */
function neighbours(
  plugins: ReturnType<typeof installedPlugins>,
  direction: 'dependencies first' | 'dependents first',
): Map<string, string[]> {
  const before = new Map<string, string[]>(plugins.map(({ id }) => [id, []]))
  for (const { id, dependencies = [] } of plugins) {
    for (const dependency of dependencies) {
      const other = parseDependency(dependency, identifierOf(id).namespace)?.fullId
      if (other === undefined) continue
      if (direction === 'dependencies first') before.get(id)?.push(other)
      else before.get(other)?.push(id)
    }
  }
  return before
}
