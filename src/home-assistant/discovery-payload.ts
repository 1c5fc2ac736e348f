import { createHash } from 'node:crypto'
import { approximateSize } from '../base/text/json-size.ts'
import type { Json, JsonObject } from '../base/text/json.ts'
import { createTopics, discoveryNode } from '../schema/names/topics.ts'
import type { Plugin } from '../schema/plugin/plugin.ts'
import type { ExposedDevice, Exposure } from '../schema/plugin/exposure.ts'
import type { ExposureView } from '../lifecycle/lifecycle.ts'
import { componentFields } from './component-fields.ts'
import { fields } from './feature-fields.ts'

/**
 * A plugin, and each device that it bridges, as one device of Home Assistant's device discovery. The keys of the envelope are the short ones of
 * its documentation (`dev`, `o`, `cmps`, `p`, …), the fields of the components have their full names. Pure.
 */

export interface DiscoveryContext {
  hostId: string
  hostVersion: string
  /** First levels of the host's topics. */
  root: string
  /** Whether several hosts speak with one voice. */
  isFleet?: boolean
}

export type DiscoveredPlugin = Pick<
  Plugin,
  'id' | 'namespace' | 'shortId' | 'name' | 'version' | 'author' | 'homepage'
>

export interface Discovery {
  payload: JsonObject
  /** Platform of each component, by its key in `cmps`. */
  platforms: ReadonlyMap<string, string>
  /** The `unique_id` of each component, by the same key. */
  uniqueIds: ReadonlyMap<string, string>
  /** Exposures for which the message has no room. */
  leftOut: number
}

/** Bytes of the components in one message; a thousand ordinary ones take a quarter of it. */
export const discoveryBytesLimit = 2 * 1024 * 1024

const availableWhenRunning =
  "{{ 'online' if value_json is defined and value_json.state == 'running' else 'offline' }}"
const availableUnlessSaid =
  "{{ 'offline' if value_json is defined and value_json.available is defined and not value_json.available else 'online' }}"
const plainKey = /^[A-Za-z0-9_-]+$/
/** Hexadecimal digits that keep two ids apart which look the same without their special characters. */
const fingerprintLength = 8

/** A plugin itself, or a device that it bridges. */
export interface DeviceAddress {
  plugin: string
  device: string | undefined
}

function deviceIdentifier(hostId: string, { plugin, device }: DeviceAddress): string {
  return `lupine_${hostId}_${plugin}${device === undefined ? '' : `/${device}`}`
}

/** Whose identifier it is; undefined for what is not of this host. */
export function readDeviceIdentifier(hostId: string, identifier: string): DeviceAddress | undefined {
  const prefix = `lupine_${hostId}_`
  if (!identifier.startsWith(`${prefix}@`)) return undefined
  const [namespace = '', shortId = '', device] = identifier.slice(prefix.length).split('/')
  return { plugin: `${namespace}/${shortId}`, device }
}

/** The members that say something: an empty text says nothing. */
function said(members: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, text]) =>
      text === undefined || text === '' ? [] : [[name, text]],
    ),
  )
}

/** What the exposures of one device say of it; of two that say something the later one counts. */
function describeDevice(exposures: readonly ExposureView[]): ExposedDevice | undefined {
  let found: ExposedDevice | undefined
  for (const { exposure } of exposures)
    if (exposure.device !== undefined) found = { ...found, ...said(exposure.device), id: exposure.device.id }
  return found
}

/**
 * The exposures of a plugin by device, in the order in which Home Assistant has to hear of them: the device through which another one is
 * connected comes first, as a `via_device` that is not known yet is forgotten.
 */
export function viaDevicesFirst(byDevice: ReadonlyMap<string | undefined, ExposureView[]>) {
  const left = new Map(byDevice)
  const ordered: [device: string | undefined, exposures: ExposureView[]][] = []
  function take(device: string | undefined): void {
    const exposures = left.get(device)
    if (exposures === undefined) return
    left.delete(device)
    const via = describeDevice(exposures)?.via
    if (via !== undefined) take(via)
    ordered.push([device, exposures])
  }
  for (const device of byDevice.keys()) take(device)
  return ordered
}

const fingerprint = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, fingerprintLength)

function componentKey(id: string): string {
  return plainKey.test(id) ? id : `${id.replace(/[^A-Za-z0-9_-]/g, '_')}_${fingerprint(id)}`
}

/** Without what is an empty text: Home Assistant shows no entity with such an icon or class. */
function withoutEmpty({ icon, deviceClass, area, ...exposure }: Exposure): Exposure {
  return { ...exposure, ...said({ icon, deviceClass, area }) }
}

/** Home Assistant refuses an icon without a set; nearly all are Material Design's. */
function iconName(icon: string): string {
  return icon.includes(':') ? icon : `mdi:${icon}`
}

function isWebAddress(text: string | null): text is string {
  return text !== null && /^https?:\/\/[^\s/]+/i.test(text) && URL.canParse(text)
}

/** `bridged`: the ids of all devices that the plugin bridges. */
function deviceOf(
  { hostId }: DiscoveryContext,
  plugin: DiscoveredPlugin,
  exposures: readonly ExposureView[],
  bridged: ReadonlySet<string>,
): JsonObject {
  const device = describeDevice(exposures)
  const areas = new Set(exposures.map(({ exposure }) => exposure.area))
  const [shared] = areas
  const area = device?.area ?? (areas.size === 1 ? shared : undefined)
  if (device !== undefined) {
    const { id, name, model, manufacturer, serial, version, via } = device
    return fields({
      ids: [deviceIdentifier(hostId, { plugin: plugin.id, device: id })],
      name: name ?? id,
      mf: manufacturer ?? plugin.author ?? 'Lupine',
      mdl: model,
      sn: serial,
      sw: version,
      sa: area,
      via_device:
        via !== undefined && bridged.has(via)
          ? deviceIdentifier(hostId, { plugin: plugin.id, device: via })
          : via,
    })
  }
  return fields({
    ids: [deviceIdentifier(hostId, { plugin: plugin.id, device: undefined })],
    name: plugin.name,
    mf: plugin.author ?? 'Lupine',
    mdl: plugin.id,
    sw: plugin.version,
    cu: isWebAddress(plugin.homepage) ? plugin.homepage : undefined,
    // A device is in one area only.
    sa: area,
  })
}

/** What stands on the broker, as far as a discovery message depends on it. */
export interface KnownIds {
  /** By component, those of the message before this one. */
  present?: ReadonlyMap<string, string> | undefined
  /** Whether another plugin has it: `@a/b` with `c_d` and `@a/b_c` with `d` are written alike. */
  isTaken(uniqueId: string): boolean
}

/** What is published retained for a plugin that exposes something, or for one of its devices. */
export function discoveryOf(
  context: DiscoveryContext,
  plugin: DiscoveredPlugin,
  views: readonly ExposureView[],
  bridged: ReadonlySet<string> = new Set(),
  known: KnownIds = { isTaken: () => false },
): Discovery {
  const exposures = views.map((view) => ({ ...view, exposure: withoutEmpty(view.exposure) }))
  const topics = createTopics(context.root)
  const node = discoveryNode(context.hostId, plugin)
  const availability = [
    // Of a fleet any host may run it, so the state of one says nothing.
    ...(context.isFleet === true ? [] : [{ topic: topics.status }]),
    { topic: topics.state(plugin.id), value_template: availableWhenRunning },
  ]
  const components = new Map<string, Json>()
  const platforms = new Map<string, string>()
  const uniqueIds = new Map<string, string>()
  /** One that had to differ stays so: Home Assistant knows an entity by it. */
  function uniqueIdOf(key: string, id: string): string {
    const plain = `${node}_${key}`
    const distinct = `${plain}_${fingerprint(`${plugin.id}/${id}`)}`
    return known.present?.get(key) === distinct || known.isTaken(plain) ? distinct : plain
  }
  let bytes = 0
  let leftOut = 0
  for (const { id, exposure } of exposures) {
    const key = componentKey(id)
    const uniqueId = uniqueIdOf(key, id)
    const component: JsonObject = {
      p: exposure.component,
      unique_id: uniqueId,
      name: exposure.name,
      ...(exposure.icon === undefined ? {} : { icon: iconName(exposure.icon) }),
      ...(exposure.tellsAvailability === true
        ? {
            availability: [
              ...availability,
              { topic: topics.exposed(plugin.id, id), value_template: availableUnlessSaid },
            ],
            availability_mode: 'all',
          }
        : {}),
      ...componentFields(exposure, {
        state: topics.exposed(plugin.id, id),
        command: (feature) => topics.exposedSet(plugin.id, id, feature),
      }),
    }
    bytes += approximateSize(component)
    if (bytes > discoveryBytesLimit) {
      leftOut += 1
      continue
    }
    platforms.set(key, exposure.component)
    uniqueIds.set(key, uniqueId)
    components.set(key, component)
  }
  const payload: JsonObject = {
    dev: deviceOf(context, plugin, exposures, bridged),
    o: { name: 'Lupine', sw: context.hostVersion },
    availability,
    availability_mode: 'all',
    cmps: Object.fromEntries(components),
  }
  return { payload, platforms, uniqueIds, leftOut }
}

/** All that a discovery message is made of; what is equal in it is the same, an exposure that has changed is another. */
export function sourcesOf(
  { name, version, author, homepage }: DiscoveredPlugin,
  views: readonly ExposureView[],
  bridged: ReadonlySet<string>,
): unknown[] {
  const ofViews = views.flatMap(({ id, exposure }) => {
    const via = exposure.device?.via
    return [id, exposure, via !== undefined && bridged.has(via)]
  })
  return [name, version, author, homepage, ...ofViews]
}

export function areSameSources(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((value, index) => value === other[index])
}

/**
 * The payload that makes Home Assistant forget single components: one that is gone, or gets another id, is named by its platform
 * alone, once. Undefined when there is none.
 */
export function removalOf(
  before: Pick<Discovery, 'platforms' | 'uniqueIds'>,
  { payload, platforms, uniqueIds }: Discovery,
): JsonObject | undefined {
  const gone = [...before.platforms].filter(
    ([key, platform]) => platforms.get(key) !== platform || before.uniqueIds.get(key) !== uniqueIds.get(key),
  )
  if (gone.length === 0) return undefined
  const markers = Object.fromEntries(gone.map(([key, platform]) => [key, { p: platform }]))
  return { ...payload, cmps: { ...(payload.cmps as JsonObject), ...markers } }
}
