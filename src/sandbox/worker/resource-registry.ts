import type { Resources } from '../../schema/plugin.ts'

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
  'watchers',
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
  /** Releases everything, stage by stage. A failing one does not stop the others; what failed is returned. */
  releaseAll(): unknown[]
}

export function createResourceRegistry(): ResourceRegistry {
  const collections = new Map<ReleaseStage, ResourceCollection[]>()
  function count(stage: ReleaseStage): number {
    let sum = 0
    for (const collection of collections.get(stage) ?? []) sum += collection.count()
    return sum
  }

  return {
    add(stage, collection) {
      collections.set(stage, [...(collections.get(stage) ?? []), collection])
    },
    counts: () => ({
      timers: count('timers'),
      pollers: count('pollers'),
      eventSubscriptions: count('eventSubscriptions'),
      mqttSubscriptions: count('mqttSubscriptions'),
      objects: count('objects'),
      sensors: count('sensors'),
      controls: count('controls'),
      throttles: count('throttles'),
      httpRequests: count('httpRequests'),
      httpHandlers: count('httpHandlers'),
      sockets: count('sockets'),
      schedules: count('schedules'),
      watchers: count('watchers'),
      serialPorts: count('serialPorts'),
      discoveries: count('discoveries'),
    }),
    releaseAll() {
      const errors: unknown[] = []
      for (const stage of releaseOrder) {
        for (const collection of collections.get(stage) ?? []) {
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
