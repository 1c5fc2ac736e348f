import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../../../base/text/json.ts'
import type { ExposedComponent, Exposure } from '../../../../schema/plugin/exposure.ts'
import { featuresOf } from '../../../../schema/plugin/exposed-components.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { exposureOptionsLimit, type ExposureDescription } from './exposure-options.ts'

export interface ExposureAnnouncementSettings {
  context: PluginContext
  id: string
  fixed: ExposureDescription
  /** Features that it is said to have, whether or not it knows a value. */
  said: readonly string[]
  /** What the object can be told. */
  abilities: Abilities
  /** Takes room for what describes it now; false when there is none. */
  takeRoom(description: Partial<Exposure>): boolean
}

export interface Abilities {
  readonly settable: boolean
  readonly switchable: boolean
  readonly pressable: boolean
}

/** What is told of an exposure besides its values: its features, which of them can be set, and its options. */
export class ExposureAnnouncement {
  readonly #settings: ExposureAnnouncementSettings
  /** Those that it is said to have, and what it has shown. */
  readonly seenFeatures: Set<string>
  #seenOptions: Set<string> | undefined
  #sent: Exposure | undefined
  #crampedLogged = false

  constructor(settings: ExposureAnnouncementSettings) {
    this.#settings = settings
    this.seenFeatures = new Set(settings.said)
  }

  /** Tells what is new of it. Answers what has been told last, if anything was. */
  announce(
    state: JsonObject,
    component: ExposedComponent,
    available: boolean | undefined,
  ): Exposure | undefined {
    const { context, id, fixed, takeRoom } = this.#settings
    for (const feature of Object.keys(state)) this.seenFeatures.add(feature)
    const known = Object.keys(featuresOf(component))
    const features = known.filter((feature) => this.seenFeatures.has(feature))
    const exposure: Exposure = {
      ...fixed,
      component,
      features: features.length > 0 ? features : known.slice(0, 1),
      writable: writableFeatures(this.#settings.abilities, component, features),
      ...this.#optionsNow(),
      ...(available === undefined || component === 'event' ? {} : { tellsAvailability: true }),
    }
    if (isDeepStrictEqual(exposure, this.#sent)) return this.#sent
    if (!takeRoom(exposure)) {
      if (!this.#crampedLogged)
        context.log.write('warn', `expose: there is no room for more options of '${id}'`)
      this.#crampedLogged = true
      return this.#sent
    }
    this.#sent = exposure
    context.send({ kind: 'setExposure', id, exposure })
    return exposure
  }

  #optionsNow(): { options?: string[] } {
    if (this.#settings.fixed.options !== undefined || this.#seenOptions === undefined) return {}
    return { options: [...this.#seenOptions] }
  }

  /** Adds a value to the options, which are told with the next announcement. */
  noteOption(value: Json | undefined): void {
    if (typeof value !== 'string') return
    this.#seenOptions ??= new Set()
    if (this.#seenOptions.size < exposureOptionsLimit) this.#seenOptions.add(value)
  }
}

function writableFeatures(
  { settable, switchable, pressable }: Abilities,
  component: ExposedComponent,
  features: readonly string[],
): string[] {
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
