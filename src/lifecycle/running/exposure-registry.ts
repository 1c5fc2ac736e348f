import { getOrInsert } from '../../base/get-or-insert.ts'
import { type SerializedJson, serializeJson } from '../../base/text/serialized-json.ts'
import { exposedState, type Exposure } from '../../schema/plugin/exposure.ts'
import type { ExposureView } from '../lifecycle.ts'

/** What the loaded plugins expose, as the host knows it. */
export interface ExposureRegistry {
  set(plugin: string, id: string, exposure: Exposure): void
  /** Answers the exposure; undefined when there is none of this id. */
  setState(plugin: string, id: string, state: SerializedJson): Exposure | undefined
  get(plugin: string, id: string): ExposureView | undefined
  list(plugin: string): ExposureView[]
  /** False when there was none. */
  remove(plugin: string, id: string): boolean
}

interface Entry {
  exposure: Exposure
  state: SerializedJson
  readonly view: ExposureView
}

const noState: SerializedJson = serializeJson({})

export function createExposureRegistry(): ExposureRegistry {
  const plugins = new Map<string, Map<string, Entry>>()
  return {
    set(plugin, id, exposure) {
      const exposures = getOrInsert(plugins, plugin, () => new Map())
      const present = exposures.get(id)
      const state = present?.exposure.component === exposure.component ? present.state : noState
      exposures.set(id, createEntry(id, exposure, state))
    },
    setState(plugin, id, state) {
      const present = plugins.get(plugin)?.get(id)
      if (present !== undefined && present.exposure.component !== 'event') present.state = state
      return present?.exposure
    },
    get: (plugin, id) => plugins.get(plugin)?.get(id)?.view,
    list: (plugin) => [...(plugins.get(plugin)?.values() ?? [])].map(({ view }) => view),
    remove(plugin, id) {
      const exposures = plugins.get(plugin)
      const removed = exposures?.delete(id) ?? false
      if (exposures?.size === 0) plugins.delete(plugin)
      return removed
    },
  }
}

function createEntry(id: string, exposure: Exposure, state: SerializedJson): Entry {
  const entry: Entry = {
    exposure,
    state,
    view: {
      id,
      exposure,
      // Parsed when somebody asks.
      get state() {
        return exposedState(entry.state)
      },
    },
  }
  return entry
}
