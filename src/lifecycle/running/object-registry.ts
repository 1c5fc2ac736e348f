import { getOrInsert } from '../../base/get-or-insert.ts'
import type { SerializedJson } from '../../base/text/serialized-json.ts'

/** Objects, sensors and controls of the loaded plugins, as the host knows them. */
export interface ObjectRegistry {
  /** `id`: of an object its path. `undefined`: a sensor or control of which no value is known. */
  set(plugin: string, kind: RegisteredKind, id: string, value: SerializedJson | undefined): void
  remove(plugin: string, kind: RegisteredKind, id: string): void
  values(plugin: string, kind: RegisteredKind): ReadonlyMap<string, SerializedJson | undefined>
  /** The plugins of which something is known. */
  plugins(): Iterable<string>
  /** Removes everything of the plugin, telling `removed` of each. */
  clear(plugin: string, removed: (kind: RegisteredKind, id: string) => void): void
}

export type PointKind = 'sensor' | 'control'
export type RegisteredKind = 'object' | PointKind

type Entries = Record<RegisteredKind, Map<string, SerializedJson | undefined>>

const noEntries = (): Entries => ({ object: new Map(), sensor: new Map(), control: new Map() })

export function createObjectRegistry(): ObjectRegistry {
  const plugins = new Map<string, Entries>()

  const entriesOf = (plugin: string): Entries => getOrInsert(plugins, plugin, noEntries)

  return {
    set(plugin, kind, id, value) {
      entriesOf(plugin)[kind].set(id, value)
    },
    remove(plugin, kind, id) {
      entriesOf(plugin)[kind].delete(id)
    },
    plugins: () => plugins.keys(),
    values: (plugin, kind) => plugins.get(plugin)?.[kind] ?? new Map(),
    clear(plugin, removed) {
      const entries = plugins.get(plugin)
      if (entries === undefined) return
      plugins.delete(plugin)
      // Sensors and controls first: the specification removes the objects last.
      for (const kind of ['sensor', 'control', 'object'] as const) {
        for (const id of entries[kind].keys()) removed(kind, id)
      }
    },
  }
}
