import type { ExposedState, Exposure } from '../../schema/exposure.ts'
import type { ExposureView } from '../lifecycle.ts'

/** What the loaded plugins expose, as the host knows it. */
export interface ExposureRegistry {
  set(plugin: string, id: string, exposure: Exposure): void
  /** Answers the exposure; undefined when there is none of this id. */
  setState(plugin: string, id: string, state: ExposedState): Exposure | undefined
  get(plugin: string, id: string): ExposureView | undefined
  list(plugin: string): ExposureView[]
  /** False when there was none. */
  remove(plugin: string, id: string): boolean
}

export function createExposureRegistry(): ExposureRegistry {
  const plugins = new Map<string, Map<string, ExposureView>>()
  const find = (plugin: string, id: string): ExposureView | undefined => plugins.get(plugin)?.get(id)
  return {
    set(plugin, id, exposure) {
      const exposures = plugins.get(plugin) ?? new Map<string, ExposureView>()
      plugins.set(plugin, exposures)
      const present = exposures.get(id)
      const state = present?.exposure.component === exposure.component ? present.state : {}
      exposures.set(id, { id, exposure, state })
    },
    setState(plugin, id, state) {
      const present = find(plugin, id)
      if (present !== undefined && present.exposure.component !== 'event') present.state = state
      return present?.exposure
    },
    get: find,
    list: (plugin) => [...(plugins.get(plugin)?.values() ?? [])],
    remove(plugin, id) {
      const exposures = plugins.get(plugin)
      const removed = exposures?.delete(id) ?? false
      if (exposures?.size === 0) plugins.delete(plugin)
      return removed
    },
  }
}
