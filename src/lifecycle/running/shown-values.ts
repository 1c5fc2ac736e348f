import type { SerializedJson } from '../../base/text/serialized-json.ts'
import type { Exposure } from '../../schema/plugin/exposure.ts'
import type { ValueKind } from '../../schema/worker/message-frames.ts'
import type { Announcements } from './announcements.ts'
import type { ExposureRegistry } from './exposure-registry.ts'
import type { Watches } from '../triggers/watches.ts'
import type { ObjectRegistry, RegisteredKind } from './object-registry.ts'

/** What plugins show of themselves (objects, sensors, controls, exposures): kept, and announced as it changes. */
export interface ShownValues {
  /** Answers how many watchers it has reached. */
  setValue(plugin: string, kind: ValueKind, id: string, value: SerializedJson | undefined): number
  removeValue(plugin: string, kind: RegisteredKind, id: string): void
  setExposure(plugin: string, id: string, exposure: Exposure): void
  removeExposure(plugin: string, id: string): void
  /** Everything of this plugin. `silently`: nobody outside is told. */
  clear(plugin: string, how: { silently: boolean }): void
}

export function createShownValues(
  registry: ObjectRegistry,
  exposures: ExposureRegistry,
  announcements: Announcements,
  watches: Pick<Watches, 'changed'>,
): ShownValues {
  const watched = (
    plugin: string,
    kind: RegisteredKind,
    id: string,
    value: SerializedJson | undefined,
  ): number => watches.changed(kind === 'object' ? 'object' : 'point', plugin, id, value)

  function announceRemoval(plugin: string, kind: RegisteredKind, id: string): void {
    if (kind === 'object') announcements.announce({ kind, plugin, path: id, value: undefined })
    else announcements.announce({ kind, plugin, id, value: undefined, removed: true })
  }

  function removeExposure(plugin: string, id: string): void {
    if (!exposures.remove(plugin, id)) return
    announcements.announce({ kind: 'exposure', plugin, id, exposure: undefined })
  }

  return {
    setValue(plugin, kind, id, value) {
      if (kind === 'exposed') {
        if (value === undefined) return 0
        const exposure = exposures.setState(plugin, id, value)
        if (exposure !== undefined) announcements.announce({ kind, plugin, id, exposure, state: value })
        return 0
      }
      registry.set(plugin, kind, id, value)
      if (kind === 'object') announcements.announce({ kind, plugin, path: id, value })
      else announcements.announce({ kind, plugin, id, value, removed: false })
      return watched(plugin, kind, id, value)
    },
    removeValue(plugin, kind, id) {
      registry.remove(plugin, kind, id)
      announceRemoval(plugin, kind, id)
      watched(plugin, kind, id, undefined)
    },
    setExposure(plugin, id, exposure) {
      exposures.set(plugin, id, exposure)
      announcements.announce({ kind: 'exposure', plugin, id, exposure })
    },
    removeExposure,
    clear(plugin, { silently }) {
      registry.clear(plugin, (kind, id) => {
        if (!silently) announceRemoval(plugin, kind, id)
        watched(plugin, kind, id, undefined)
      })
      for (const { id } of exposures.list(plugin))
        if (silently) exposures.remove(plugin, id)
        else removeExposure(plugin, id)
    },
  }
}
