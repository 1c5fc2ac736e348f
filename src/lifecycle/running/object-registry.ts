import type { Json } from '../../base/json.ts'

/** Objects, sensors and controls of the loaded plugins, as the host knows them. */
export interface ObjectRegistry {
  setObject(plugin: string, path: string, value: Json | undefined): void
  objects(plugin: string): ReadonlyMap<string, Json>
  setPoint(plugin: string, kind: PointKind, id: string, value: Json | undefined): void
  removePoint(plugin: string, kind: PointKind, id: string): void
  points(plugin: string, kind: PointKind): ReadonlyMap<string, Json | undefined>
  /** Removes everything of the plugin, telling `removed` of each. */
  clear(plugin: string, removed: (what: { kind: 'object' | PointKind; id: string }) => void): void
}

export type PointKind = 'sensor' | 'control'

interface Entries {
  object: Map<string, Json>
  sensor: Map<string, Json | undefined>
  control: Map<string, Json | undefined>
}

export function createObjectRegistry(): ObjectRegistry {
  const plugins = new Map<string, Entries>()

  function entriesOf(plugin: string): Entries {
    let entries = plugins.get(plugin)
    if (entries === undefined) {
      entries = { object: new Map(), sensor: new Map(), control: new Map() }
      plugins.set(plugin, entries)
    }
    return entries
  }

  return {
    setObject(plugin, path, value) {
      if (value === undefined) entriesOf(plugin).object.delete(path)
      else entriesOf(plugin).object.set(path, value)
    },
    objects: (plugin) => plugins.get(plugin)?.object ?? new Map(),
    setPoint(plugin, kind, id, value) {
      entriesOf(plugin)[kind].set(id, value)
    },
    removePoint(plugin, kind, id) {
      entriesOf(plugin)[kind].delete(id)
    },
    points: (plugin, kind) => plugins.get(plugin)?.[kind] ?? new Map(),
    clear(plugin, removed) {
      const entries = plugins.get(plugin)
      if (entries === undefined) return
      plugins.delete(plugin)
      // Sensors and controls first: the specification removes the objects last.
      for (const kind of ['sensor', 'control', 'object'] as const) {
        for (const id of entries[kind].keys()) removed({ kind, id })
      }
    },
  }
}
