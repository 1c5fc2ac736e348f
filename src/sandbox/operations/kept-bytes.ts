import { exposureBytesLimit } from '../../schema/worker/exposure-size.ts'
import type { ValueKind } from '../../schema/worker/message-frames.ts'
import { operationSize } from '../../schema/worker/operation-size.ts'
import type { Operation } from '../../schema/worker/operation.ts'

/** Bytes of which the host keeps a copy for one plugin: values of objects, sensors, controls, exposures. */
export interface KeptBytes {
  /** Counts what the operation adds or takes away; false when there is no room for it. */
  admit(operation: Operation): boolean
  /** The same for a value of so many bytes as JSON. */
  admitValue(kind: ValueKind, id: string, bytes: number): boolean
}

/** What has been kept under each name, of one kind. */
type Sizes = Map<string, number>

/** Says whether there is room for something of this size in place of what is there. */
function createRoom(limit: number): (sizes: Sizes, key: string, size: number) => boolean {
  let total = 0

  return (sizes, key, size) => {
    const before = sizes.get(key) ?? 0
    // What becomes smaller is always taken.
    if (size > before && total - before + size > limit) return false
    total += size - before
    if (size === 0) sizes.delete(key)
    else if (size !== before) sizes.set(key, size)
    return true
  }
}

export function createKeptBytes(limit: number): KeptBytes {
  const keep = createRoom(limit)
  const values: Record<ValueKind, Sizes> = {
    object: new Map(),
    sensor: new Map(),
    control: new Map(),
    exposed: new Map(),
  }
  const describe = createRoom(exposureBytesLimit)
  const descriptions: Sizes = new Map()
  return {
    admit(operation) {
      switch (operation.kind) {
        case 'removeValue':
          return keep(values[operation.of], operation.id, 0)
        case 'setExposure':
          return describe(descriptions, operation.id, operationSize(operation))
        case 'removeExposure':
          describe(descriptions, operation.id, 0)
          return keep(values.exposed, operation.id, 0)
        default:
          return true
      }
    },
    admitValue: (kind, id, bytes) => keep(values[kind], id, id.length + bytes),
  }
}
