import type { Operation } from '../../schema/worker-protocol.ts'
import { exposureBytesLimit } from '../../schema/exposure.ts'
import { operationSize } from '../../schema/operation-size.ts'

/** Bytes of which the host keeps a copy for one plugin: values of objects, sensors, controls, exposures. */
export interface KeptBytes {
  /** Counts what the operation adds or takes away; false when there is no room for it. */
  admit(operation: Operation): boolean
}

function createRoom(limit: number): (key: string, size: number) => boolean {
  const sizes = new Map<string, number>()
  let total = 0

  return (key, size) => {
    const before = sizes.get(key) ?? 0
    // What becomes smaller is always taken.
    if (size > before && total - before + size > limit) return false
    total += size - before
    if (size === 0) sizes.delete(key)
    else sizes.set(key, size)
    return true
  }
}

export function createKeptBytes(limit: number): KeptBytes {
  const keep = createRoom(limit)
  const describe = createRoom(exposureBytesLimit)
  return {
    admit(operation) {
      switch (operation.kind) {
        case 'setObject':
          return keep(
            `object ${operation.path}`,
            operation.value === undefined ? 0 : operationSize(operation),
          )
        case 'setPoint':
          return keep(`${operation.point} ${operation.id}`, operationSize(operation))
        case 'removePoint':
          return keep(`${operation.point} ${operation.id}`, 0)
        case 'setExposure':
          return describe(operation.id, operationSize(operation))
        case 'setExposedState':
          return keep(`exposure ${operation.id}`, operationSize(operation))
        case 'removeExposure':
          describe(operation.id, 0)
          return keep(`exposure ${operation.id}`, 0)
        default:
          return true
      }
    },
  }
}
