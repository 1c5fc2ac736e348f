import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../../base/json.ts'
import type { ExposedComponent, Exposure } from '../../../schema/exposure.ts'
import { featuresOf } from '../../../schema/exposed-components.ts'
import type { PluginContext } from '../plugin-context.ts'
import { exposureOptionsLimit, type ExposureDescription } from './exposure-options.ts'

/** What is told of an exposure besides its values: its features, which of them can be set, and its options. */
export interface ExposureAnnouncement {
  /** Those that it is said to have, and what it has shown. */
  readonly seenFeatures: ReadonlySet<string>
  /** Tells what is new of it. Answers what has been told last, if anything was. */
  announce(
    state: JsonObject,
    component: ExposedComponent,
    available: boolean | undefined,
  ): Exposure | undefined
  /** Adds a value to the options, which are told with the next announcement. */
  noteOption(value: Json | undefined): void
}

export interface ExposureAnnouncementSettings {
  id: string
  fixed: ExposureDescription
  /** Features that it is said to have, whether or not it knows a value. */
  said: ReadonlySet<string>
  settable: boolean
  switchable: boolean
  pressable: boolean
  /** Takes room for what describes it now; false when there is none. */
  takeRoom(description: Partial<Exposure>): boolean
}

export function createExposureAnnouncement(
  context: PluginContext,
  { id, fixed, said, settable, switchable, pressable, takeRoom }: ExposureAnnouncementSettings,
): ExposureAnnouncement {
  const seenFeatures = new Set(said)
  const seenOptions = new Set<string>()
  let sent: Exposure | undefined
  let crampedLogged = false

  function announce(
    state: JsonObject,
    component: ExposedComponent,
    available: boolean | undefined,
  ): Exposure | undefined {
    for (const feature of Object.keys(state)) seenFeatures.add(feature)
    const known = Object.keys(featuresOf(component))
    const features = known.filter((feature) => seenFeatures.has(feature))
    const exposure: Exposure = {
      ...fixed,
      component,
      features: features.length > 0 ? features : known.slice(0, 1),
      writable: writableFeatures(component, features),
      ...optionsNow(),
      ...(available === undefined || component === 'event' ? {} : { tellsAvailability: true }),
    }
    if (isDeepStrictEqual(exposure, sent)) return sent
    if (!takeRoom(exposure)) {
      if (!crampedLogged) context.log.write('warn', `expose: there is no room for more options of '${id}'`)
      crampedLogged = true
      return sent
    }
    sent = exposure
    context.send({ kind: 'setExposure', id, exposure })
    return sent
  }

  function optionsNow(): { options?: string[] } {
    if (fixed.options !== undefined || seenOptions.size === 0) return {}
    return { options: [...seenOptions] }
  }

  function writableFeatures(component: ExposedComponent, features: readonly string[]): string[] {
    const commanded = Object.entries(featuresOf(component)).filter(([, { commanded }]) => commanded)
    return commanded
      .map(([feature]) => feature)
      .filter((feature) => {
        if (feature === 'press') return settable || pressable
        if (feature === 'state') return settable || switchable
        // What is only set is never shown.
        if (featuresOf(component)[feature]?.names.length === 0) return settable
        // What the object has never shown it may not have at all; a single feature it must have.
        return settable && (features.includes(feature) || commanded.length === 1)
      })
  }

  function noteOption(value: Json | undefined): void {
    if (typeof value === 'string' && seenOptions.size < exposureOptionsLimit) seenOptions.add(value)
  }

  return { seenFeatures, announce, noteOption }
}
