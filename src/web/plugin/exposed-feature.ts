import { choicesOf, type FeatureKind, featuresOf, rangeOf } from '../../schema/plugin/exposed-components.ts'
import type { Exposure } from '../../schema/plugin/exposure.ts'
import { dateTimeOf, readableText } from '../base/words.ts'
import { type InputKind, numberInput } from '../parts/inputs/input-kind.ts'

/** How a feature of something exposed is shown and set. Pure. */

const coverButtons = [
  { value: 'open', label: 'Open' },
  { value: 'stop', label: 'Stop' },
  { value: 'close', label: 'Close' },
] as const

function kindOf({ component }: Exposure, feature: string): FeatureKind {
  return featuresOf(component)[feature]?.kind ?? 'any'
}

/** What it tells, and after that what can only be set: what a vacuum is told to do, or that an update is installed. */
export function shownFeatures({ features, writable }: Exposure): string[] {
  return [...new Set([...features, ...writable])]
}

/** Undefined for a feature that is only read. */
export function inputOf(exposure: Exposure, feature: string): InputKind | undefined {
  if (!exposure.writable.includes(feature)) return undefined
  switch (kindOf(exposure, feature)) {
    case 'boolean':
    case 'siren':
      return { kind: 'switch' }
    case 'number': {
      const { min, max, step } = rangeOf(exposure, feature)
      return numberInput(min, max, step)
    }
    case 'cover':
      return { kind: 'buttons', buttons: coverButtons }
    case 'press':
      return { kind: 'buttons', buttons: [{ value: true, label: featureName(feature) }] }
    default:
      return textFeature(exposure, feature)
  }
}

function textFeature(exposure: Exposure, feature: string): InputKind {
  if (exposure.component === 'light' && feature === 'color') return { kind: 'colour' }
  const { commands } = featuresOf(exposure.component)[feature] ?? {}
  // Nothing says which was the last.
  if (commands !== undefined && !exposure.features.includes(feature))
    return { kind: 'buttons', buttons: commands.map((value) => ({ value, label: featureName(value) })) }
  const options = commands ?? choicesOf(exposure, feature)
  return options === undefined ? { kind: 'text' } : { kind: 'choice', options: [...options] }
}

/** A feature's unit, where one is known. */
export function unitOf({ component, unit }: Exposure, feature: string): string {
  if (component === 'sensor' || component === 'number') return unit ?? ''
  if (feature === 'speed' || feature === 'position' || feature === 'tilt' || feature === 'current_humidity')
    return '%'
  return feature.endsWith('_temperature') ? (unit ?? '°C') : ''
}

/** The value of a feature as somebody reads it. */
export function stateText({ deviceClass }: Exposure, value: unknown): string {
  // As `os.time()` gives it, which Home Assistant is told as a time, too.
  if (deviceClass === 'timestamp' && typeof value === 'number') return dateTimeOf(value * 1_000)
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : readableText(value)
}

/** `target_temperature` as people write it. */
export function featureName(feature: string): string {
  const text = feature.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** What each is called: with its device in front where it has one, since each of several may have a battery. */
export function namesWithDevices(
  all: readonly Pick<Exposure, 'name' | 'device'>[],
): (exposure: Pick<Exposure, 'name' | 'device'>) => string {
  // Only one exposure of a device need say what it is called.
  const devices = new Map(
    all.flatMap(({ device }) => (device?.name === undefined ? [] : [[device.id, device.name]])),
  )
  return ({ name, device }) =>
    device === undefined ? name : `${devices.get(device.id) ?? device.id}: ${name}`
}
