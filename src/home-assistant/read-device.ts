import { isJsonObject } from '../base/text/json.ts'
import { parseJsonText } from '../schema/parsing/json-text.ts'
import { type DeviceAddress, type Discovery, readDeviceIdentifier } from './discovery-payload.ts'

/** What a discovery message on the broker says of itself. */
export interface FoundDevice extends DeviceAddress, Pick<Discovery, 'platforms' | 'uniqueIds'> {
  /** Topics that say whether the device can be reached. */
  availability: readonly string[]
}

/** Bytes in which the identifier of a device ends at the latest. */
const beginningLength = 1_024

/**
 * Whose device a message says that it is about, by its first bytes alone, as hosts write them; undefined for what does not
 * begin like one of this fleet's.
 */
export function readDeviceAddress(payload: Uint8Array, hostId: string): DeviceAddress | undefined {
  const beginning = new TextDecoder().decode(payload.subarray(0, beginningLength))
  const [, identifier] = /^\{"dev":\{"ids":\["([^"\\]*)"/.exec(beginning) ?? []
  return identifier === undefined ? undefined : readDeviceIdentifier(hostId, identifier)
}

/** The device, if it is one of this host's by what is in the message; its topic alone would not tell hosts apart. */
export function readDevice(payload: Uint8Array, hostId: string): FoundDevice | undefined {
  const parsed = payload.length === 0 ? undefined : parseJsonText(payload)
  if (parsed?.ok !== true || !isJsonObject(parsed.value)) return undefined
  const { dev, cmps, availability } = parsed.value
  const ids = isJsonObject(dev) && Array.isArray(dev.ids) ? dev.ids : []
  const [address] = ids.flatMap((id) =>
    typeof id === 'string' ? (readDeviceIdentifier(hostId, id) ?? []) : [],
  )
  if (address === undefined) return undefined
  const platforms = new Map<string, string>()
  const uniqueIds = new Map<string, string>()
  for (const [key, component] of Object.entries(isJsonObject(cmps) ? cmps : {})) {
    if (!isJsonObject(component) || typeof component.p !== 'string') continue
    platforms.set(key, component.p)
    if (typeof component.unique_id === 'string') uniqueIds.set(key, component.unique_id)
  }
  const topics = (Array.isArray(availability) ? availability : []).flatMap((one) =>
    isJsonObject(one) && typeof one.topic === 'string' ? one.topic : [],
  )
  return { ...address, platforms, uniqueIds, availability: topics }
}
