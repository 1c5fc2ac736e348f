import type { PluginSnapshot } from '../../journal/fold/evolve.ts'
import type { Plugin, Resources } from '../../schema/plugin/plugin.ts'
import type { PluginSurroundings } from './views.ts'

/** What may change of a plugin's surroundings while its fold stays as it is. The fields come with the manifest. */
export type Changing = Pick<PluginSurroundings, 'manifest' | 'resources' | 'isolation' | 'whereabouts'>

type MakeView = (snapshot: PluginSnapshot, surroundings: Changing) => Plugin

/** The same, for as long as what a view shows stays the same: whoever asks again and again gets the same object. */
export function createViewCache(make: MakeView): MakeView {
  /** A snapshot is never changed, but followed by another one. */
  const known = new WeakMap<PluginSnapshot, Changing & { view: Plugin }>()
  return (snapshot, surroundings) => {
    const { manifest, resources, isolation, whereabouts } = surroundings
    const last = known.get(snapshot)
    const isSame =
      last !== undefined &&
      last.manifest === manifest &&
      last.isolation === isolation &&
      last.whereabouts === whereabouts &&
      haveSameCounts(last.resources, resources)
    if (isSame) return last.view
    const view = Object.freeze(make(snapshot, surroundings))
    known.set(snapshot, { ...surroundings, view })
    return view
  }
}

function haveSameCounts(one: Resources, other: Resources): boolean {
  if (one === other) return true
  const kinds = Object.keys(other) as (keyof Resources)[]
  return kinds.every((kind) => one[kind] === other[kind])
}
