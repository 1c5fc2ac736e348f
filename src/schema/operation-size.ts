import { approximateSize } from '../base/json-size.ts'
import type { Json } from '../base/json.ts'
import { exposureSize } from './exposure-size.ts'
import type { SerializedValues } from './plugin-call.ts'
import type { Operation } from './worker-protocol.ts'

/** Bytes that a reference takes beside serialized values, roughly. */
const referenceSize = 64

/** Bytes of what a plugin asks for, roughly. */
export function operationSize(operation: Operation): number {
  switch (operation.kind) {
    case 'call':
      return operation.call.service === 'http' ? (operation.call.request.body?.byteLength ?? 0) : 0
    case 'openConnection':
      return approximateSize(operation.target)
    case 'setExposure':
      return exposureSize(operation.id, operation.exposure)
    case 'setKeyValue':
      return operation.key.length + approximateSize(operation.entry?.value)
    default:
      return 0
  }
}

/** Bytes that an entry takes of `keyValueBytes`: what its key and its value take as text. */
export function keyValueSize(key: string, value: Json): number {
  return Buffer.byteLength(key) + Buffer.byteLength(JSON.stringify(value))
}

export function serializedSize({ body, references }: SerializedValues): number {
  return body.byteLength + references.length * referenceSize
}
