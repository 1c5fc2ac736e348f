import type { Resources } from '../../../schema/plugin/plugin.ts'

/**
 * What a plugin can hold, in the order in which it is released at unload (specification 3, plugin API 2.6).
 * An exposure is counted with the sensor or control it shows.
 */
const releaseOrder = [
  'pollers',
  'timers',
  'schedules',
  'throttles',
  'eventSubscriptions',
  'watches',
  'mqttSubscriptions',
  'httpHandlers',
  'httpRequests',
  'sockets',
  'serialPorts',
  'discoveries',
  'sensors',
  'controls',
  'exposures',
  'objects',
  // What other plugins hold of this one, and this one of others; nobody counts it as a resource.
  'handedOver',
] as const
export type ReleaseStage = (typeof releaseOrder)[number]
const uncounted: ReadonlySet<ReleaseStage> = new Set(['exposures', 'handedOver'])

/** One table of something that a plugin holds. */
export interface ResourceCollection {
  count(): number
  /** Lets go of all of it, without calling Lua. */
  release(): void
}

export interface ResourceRegistry {
  add(stage: ReleaseStage, collection: ResourceCollection): void
  /** Counted now, from the collections themselves. */
  counts(): Resources
  /** The same, if it is not what it was when this was asked last. */
  changedCounts(): Resources | undefined
  /** Releases everything, stage by stage. A failing one does not stop the others; what failed is returned. */
  releaseAll(): unknown[]
}

export function createResourceRegistry(): ResourceRegistry {
  const stages = releaseOrder.map((name) => ({ name, collections: [] as ResourceCollection[], last: -1 }))
  const counted = stages.filter(({ name }) => !uncounted.has(name))

  const counts = (): Resources =>
    Object.fromEntries(counted.map(({ name, collections }) => [name, sumOf(collections)])) as Resources

  return {
    add(stage, collection) {
      stages.find(({ name }) => name === stage)?.collections.push(collection)
    },
    counts,
    // Asked after each entry into Lua: nothing is made for the answer that nothing has changed.
    changedCounts() {
      let changed = false
      for (const stage of counted) {
        const now = sumOf(stage.collections)
        if (now === stage.last) continue
        stage.last = now
        changed = true
      }
      return changed ? counts() : undefined
    },
    releaseAll() {
      const errors: unknown[] = []
      for (const { collections } of stages) {
        for (const collection of collections) {
          try {
            collection.release()
          } catch (error) {
            errors.push(error)
          }
        }
      }
      return errors
    },
  }
}

function sumOf(collections: readonly ResourceCollection[]): number {
  let sum = 0
  for (const collection of collections) sum += collection.count()
  return sum
}
