import type { Operation } from '../schema/worker-protocol.ts'

/**
 * What a plugin has with the host, as the host has been told: so that it can be taken back when the worker
 * died and cannot do it itself.
 */
export interface HeldThings {
  /** Remembers or forgets what the operation creates or removes. */
  note(operation: Operation): void
  /** The operations that take back all that is left, in the order of an unload; and forgets it. */
  release(): Operation[]
}

export function createHeldThings(): HeldThings {
  const events = new Set<string>()
  const topics = new Set<number>()
  const sensors = new Set<string>()
  const controls = new Set<string>()
  const exposures = new Set<string>()
  const objects = new Set<string>()
  const pointsOf = (kind: 'sensor' | 'control'): Set<string> => (kind === 'sensor' ? sensors : controls)
  return {
    note(operation) {
      switch (operation.kind) {
        case 'subscribeEvent':
          events.add(operation.name)
          break
        case 'unsubscribeEvent':
          events.delete(operation.name)
          break
        case 'subscribeTopic':
          topics.add(operation.subscription)
          break
        case 'unsubscribeTopic':
          topics.delete(operation.subscription)
          break
        case 'setPoint':
          pointsOf(operation.point).add(operation.id)
          break
        case 'removePoint':
          pointsOf(operation.point).delete(operation.id)
          break
        case 'setExposure':
          exposures.add(operation.id)
          break
        case 'removeExposure':
          exposures.delete(operation.id)
          break
        case 'setObject':
          if (operation.value === undefined) objects.delete(operation.path)
          else objects.add(operation.path)
          break
      }
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
