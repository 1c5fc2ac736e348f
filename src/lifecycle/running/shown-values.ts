import type { SerializedJson } from '../../base/serialized-json.ts'
import type { Exposure } from '../../schema/exposure.ts'
import type { ValueKind } from '../../schema/message-frames.ts'
import type { Announcements } from './announcements.ts'
import type { ExposureRegistry } from './exposure-registry.ts'
import type { ObjectRegistry, RegisteredKind } from './object-registry.ts'

/** What plugins show of themselves (objects, sensors, controls, exposures): kept, and announced as it changes. */
export interface ShownValues {
  setValue(plugin: string, kind: ValueKind, id: string, value: SerializedJson | undefined): void
  removeValue(plugin: string, kind: RegisteredKind, id: string): void
  setExposure(plugin: string, id: string, exposure: Exposure): void
  removeExposure(plugin: string, id: string): void
  /** Everything of this plugin. */
  clear(plugin: string): void
}

export function createShownValues(
  registry: ObjectRegistry,
  exposures: ExposureRegistry,
  announcements: Announcements,
): ShownValues {
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
        if (value === undefined) return
        const exposure = exposures.setState(plugin, id, value)
        if (exposure !== undefined) announcements.announce({ kind, plugin, id, exposure, state: value })
        return
      }
      registry.set(plugin, kind, id, value)
      if (kind === 'object') announcements.announce({ kind, plugin, path: id, value })
      else announcements.announce({ kind, plugin, id, value, removed: false })
    },
    removeValue(plugin, kind, id) {
      registry.remove(plugin, kind, id)
      announceRemoval(plugin, kind, id)
    },
    setExposure(plugin, id, exposure) {
      exposures.set(plugin, id, exposure)
      announcements.announce({ kind: 'exposure', plugin, id, exposure })
    },
    removeExposure,
    clear(plugin) {
      registry.clear(plugin, (kind, id) => announceRemoval(plugin, kind, id))
      for (const { id } of exposures.list(plugin)) removeExposure(plugin, id)
    },
  }
}
