import type { ValueKind } from '../../schema/worker/message-frames.ts'
import type { PluginLimits } from '../../schema/plugin/plugin-limits.ts'
import type { Operation } from '../../schema/worker/operation.ts'

/**
 * What a plugin has at the host: subscriptions, handlers, exposures and values, counted by what its worker has asked for, so that it can be
 * taken back when the worker has died and cannot do it itself.
 */
export interface HeldResources {
  /**
   * Remembers or forgets what the operation creates or removes. False when it must not be done: there is one of this
   * number already, or there are too many. The worker knows both before it asks; one that asks all the same lies.
   */
  note(operation: Operation): boolean
  /** The same for a value. `exposed`: whether there is such an exposure. */
  noteValue(kind: ValueKind, id: string): boolean
  /** The operations that take back all that is left, in the order of an unload; and forgets it. */
  release(): Operation[]
}

/** `limits`: how many there may be of each. */
export function createHeldResources(limits: PluginLimits): HeldResources {
  const events = new Set<string>()
  const topics = new Set<number>()
  const httpHandlers = new Set<number>()
  const exposures = new Set<string>()
  const values = { sensor: new Set<string>(), control: new Set<string>(), object: new Set<string>() }

  /** Adds it, if there is room. */
  function add<T>(things: Set<T>, thing: T, limit: number): boolean {
    if (!things.has(thing) && things.size >= limit) return false
    things.add(thing)
    return true
  }

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
        case 'setHttpHandler':
          return (
            !httpHandlers.has(operation.handler) && add(httpHandlers, operation.handler, limits.httpHandlers)
          )
        case 'removeHttpHandler':
          httpHandlers.delete(operation.handler)
          break
        case 'removeValue':
          values[operation.of].delete(operation.id)
          break
        case 'setExposure':
          return add(exposures, operation.id, limits.exposures)
        case 'removeExposure':
          exposures.delete(operation.id)
          break
      }
      return true
    },
    noteValue: (kind, id) =>
      kind === 'exposed' ? exposures.has(id) : add(values[kind], id, limits[`${kind}s`]),
    release() {
      const removed = (of: keyof typeof values): Operation[] =>
        [...values[of]].map((id) => ({ kind: 'removeValue', of, id }))
      const operations: Operation[] = [
        ...[...events].map((name): Operation => ({ kind: 'unsubscribeEvent', name })),
        ...[...topics].map((subscription): Operation => ({ kind: 'unsubscribeTopic', subscription })),
        ...[...httpHandlers].map((handler): Operation => ({ kind: 'removeHttpHandler', handler })),
        ...removed('sensor'),
        ...removed('control'),
        ...[...exposures].map((id): Operation => ({ kind: 'removeExposure', id })),
        ...removed('object'),
      ]
      for (const set of [events, topics, httpHandlers, exposures, ...Object.values(values)]) set.clear()
      return operations
    },
  }
}
