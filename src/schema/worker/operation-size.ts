import { approximateSize } from '../../base/text/json-size.ts'
import type { Json } from '../../base/text/json.ts'
import type { ConnectionTarget } from '../outside/connection.ts'
import type { Exposure } from '../plugin/exposure.ts'
import type { HttpRequest } from '../outside/outside.ts'
import type { SerializedValues } from './plugin-call.ts'
import type { Operation } from './operation.ts'

/** Bytes that a reference takes beside serialized values, roughly. */
const referenceSize = 64

/** Bytes of what a plugin asks for, roughly. */
export function operationSize(operation: Operation): number {
  switch (operation.kind) {
    case 'call':
      return operation.call.service === 'http' ? bodySize(operation.call.request) : 0
    case 'openConnection':
      return targetSize(operation.target)
    case 'setExposure':
      return exposureSize(operation.id, operation.exposure)
    case 'setKeyValue':
      return operation.key.length + approximateSize(operation.entry?.value)
    default:
      return 0
  }
}

function targetSize(target: ConnectionTarget): number {
  if (target.kind !== 'httpStream') return approximateSize(target)
  const { body: _body, ...rest } = target.request
  return approximateSize(rest) + bodySize(target.request)
}

function bodySize({ body }: HttpRequest): number {
  return body?.byteLength ?? 0
}

/** Bytes that an entry takes of `keyValueBytes`: what its key and its value take as text. */
export function keyValueSize(key: string, value: Json): number {
  return Buffer.byteLength(key) + Buffer.byteLength(JSON.stringify(value))
}

export function serializedSize({ body, references }: SerializedValues): number {
  return body.byteLength + references.length * referenceSize
}

/** Bytes of all that one plugin exposes, without the values: Home Assistant is told of all of it in one message. */
export const exposureBytesLimit = 1024 * 1024

/** Bytes that a description takes of them, roughly. */
export function exposureSize(id: string, exposure: Partial<Exposure>): number {
  return id.length + approximateSize(exposure)
}
