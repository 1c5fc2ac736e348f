import type { Operation, WorkerLimits } from '../../schema/worker-protocol.ts'

/**
 * What a plugin has with the host, as the host has been told: so that it can be taken back when the worker
 * died and cannot do it itself.
 */
export interface HeldThings {
  /**
   * Remembers or forgets what the operation creates or removes. False when it must not be done: there is one of this
   * number already, or there are too many. The worker knows both before it asks; one that asks all the same lies.
   */
  note(operation: Operation): boolean
  /** The operations that take back all that is left, in the order of an unload; and forgets it. */
  release(): Operation[]
}

/** How many there may be of each. */
export type HeldLimits = Pick<
  WorkerLimits,
  'eventSubscriptions' | 'mqttSubscriptions' | 'objects' | 'sensors' | 'controls' | 'exposures'
>

export function createHeldThings(limits: HeldLimits): HeldThings {
  const events = new Set<string>()
  const topics = new Set<number>()
  const sensors = new Set<string>()
  const controls = new Set<string>()
  const exposures = new Set<string>()
  const objects = new Set<string>()
  /** Adds it, if there is room. */
  function add<T>(things: Set<T>, thing: T, limit: number): boolean {
    if (!things.has(thing) && things.size >= limit) return false
    things.add(thing)
    return true
  }
  const pointsOf = (kind: 'sensor' | 'control'): Set<string> => (kind === 'sensor' ? sensors : controls)
  return {
    note(operation) {
      switch (operation.kind) {
        case 'subscribeEvent':
          return add(events, operation.name, limits.eventSubscriptions)
        case 'unsubscribeEvent':
          events.delete(operation.name)
          break
        case 'subscribeTopic':
          return (
            !topics.has(operation.subscription) &&
            add(topics, operation.subscription, limits.mqttSubscriptions)
          )
        case 'unsubscribeTopic':
          topics.delete(operation.subscription)
          break
        case 'setPoint':
          return add(pointsOf(operation.point), operation.id, limits[`${operation.point}s`])
        case 'removePoint':
          pointsOf(operation.point).delete(operation.id)
          break
        case 'setExposure':
          return add(exposures, operation.id, limits.exposures)
        case 'removeExposure':
          exposures.delete(operation.id)
          break
        case 'setObject':
          if (operation.value !== undefined) return add(objects, operation.path, limits.objects)
          objects.delete(operation.path)
          break
      }
      return true
    },
    release() {
      const operations: Operation[] = [
        ...[...events].map((name): Operation => ({ kind: 'unsubscribeEvent', name })),
        ...[...topics].map((subscription): Operation => ({ kind: 'unsubscribeTopic', subscription })),
        ...[...sensors].map((id): Operation => ({ kind: 'removePoint', point: 'sensor', id })),
        ...[...controls].map((id): Operation => ({ kind: 'removePoint', point: 'control', id })),
        ...[...exposures].map((id): Operation => ({ kind: 'removeExposure', id })),
        ...[...objects].map((path): Operation => ({ kind: 'setObject', path })),
      ]
      for (const set of [events, topics, sensors, controls, exposures, objects]) set.clear()
      return operations
    },
  }
}
