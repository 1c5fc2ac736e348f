import { createByteQuota, type Sizes } from '../../schema/worker/byte-quota.ts'
import { exposureBytesLimit, operationSize } from '../../schema/worker/operation-size.ts'
import type { ValueKind } from '../../schema/worker/message-frames.ts'
import type { Operation } from '../../schema/worker/operation.ts'

/** Bytes of which the host keeps a copy for one plugin: values of objects, sensors, controls, exposures. */
export interface KeptBytes {
  /** Counts what the operation adds or takes away; false when there is no room for it. */
  admit(operation: Operation): boolean
  /** The same for a value of so many bytes as JSON. */
  admitValue(kind: ValueKind, id: string, bytes: number): boolean
}

export function createKeptBytes(limit: number): KeptBytes {
  const keep = createByteQuota(limit)
  const values: Record<ValueKind, Sizes> = {
    object: new Map(),
    sensor: new Map(),
    control: new Map(),
    exposed: new Map(),
  }
  const describe = createByteQuota(exposureBytesLimit)
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
