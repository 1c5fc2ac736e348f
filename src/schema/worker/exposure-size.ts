import { approximateSize } from '../../base/text/json-size.ts'
import type { Exposure } from '../plugin/exposure.ts'

/** Bytes of all that one plugin exposes, without the values: Home Assistant is told of all of it in one message. */
export const exposureBytesLimit = 1024 * 1024

/** Bytes that a description takes of them, roughly. */
export function exposureSize(id: string, exposure: Partial<Exposure>): number {
  return id.length + approximateSize(exposure)
}
