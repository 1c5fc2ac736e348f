import type { Clock } from '../../base/time/clock.ts'
import type { SerializedJson } from '../../base/text/serialized-json.ts'
import type { QuestionOf } from '../../schema/worker/question.ts'
import type { Checks } from '../permissions/guard.ts'
import {
  createWatches,
  type PresentValue,
  type WatchListener,
  type WatchedKind,
  type Watches,
} from '../triggers/watches.ts'
import { deliver, type LoadedPlugin } from './loaded-plugin.ts'
import type { ObjectRegistry } from './object-registry.ts'
import { objectAddress } from './plugin-names.ts'

const nothing = Buffer.from('null')

/** `[value, previous]` as JSON. */
function changeOf(value: SerializedJson | undefined, previous: SerializedJson | undefined): Uint8Array {
  const parts = ['[', value?.bytes ?? nothing, ',', previous?.bytes ?? nothing, ']']
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}

export interface PluginWatchesSettings {
  clock: Clock
  registry: ObjectRegistry
  /** By id; whoever works through another's instance is among them. */
  loaded: ReadonlyMap<string, LoadedPlugin>
  /** Full ids of all installed plugins, sorted. */
  installedIds(): readonly string[]
  /** Why a plugin that works through another one's instance may not do what the other one may. */
  refusedTo(
    foreignCaller: string | undefined,
    check: (checks: Checks) => string | undefined,
  ): string | undefined
}

/** What plugins hear of the values of others, as far as they may. */
export interface PluginWatches extends Pick<Watches, 'changed' | 'remove' | 'clear'> {
  /** Answers why not, or undefined. Throws `Error` when the pattern is none. */
  watch(id: string, plugin: LoadedPlugin, question: QuestionOf<'watch'>): string | undefined
}

export function createPluginWatches(settings: PluginWatchesSettings): PluginWatches {
  const { clock, registry, loaded, refusedTo } = settings
  const watches = createWatches(clock, present)

  function* present(kind: WatchedKind): Iterable<PresentValue> {
    for (const plugin of registry.plugins())
      for (const of of kind === 'object' ? (['object'] as const) : (['sensor', 'control'] as const))
        for (const [id, value] of registry.values(plugin, of)) yield { plugin, id, value }
  }

  /** The other plugin that a pattern names without a wildcard. */
  function ownerOf(kind: WatchedKind, pattern: string): string | undefined {
    if (kind === 'object')
      return pattern.includes('*') ? undefined : objectAddress(settings.installedIds(), pattern)?.plugin
    const [namespace = '', shortId = ''] = pattern.split('/')
    return `${namespace}${shortId}`.includes('*') ? undefined : `${namespace}/${shortId}`
  }

  return {
    watch(id, plugin, { number, watch: wanted, foreignCaller }) {
      if (watches.count(id) >= plugin.limits.watchers) return 'too many watchers'
      const owner = ownerOf(wanted.of, wanted.pattern)
      const refusal = owner && (plugin.guard.use(owner) ?? refusedTo(foreignCaller, ({ use }) => use(owner)))
      if (refusal !== undefined) return refusal
      const sees = (other: string): boolean =>
        plugin.guard.sees(other) &&
        (foreignCaller === undefined || loaded.get(foreignCaller)?.guard.sees(other) === true)
      const tell: WatchListener = (path, value, previous) =>
        deliver(plugin, changeOf(value, previous), (isolate, bytes) =>
          isolate.deliverWatched(number, path, bytes),
        )
      watches.add(id, number, wanted, sees, tell)
      return undefined
    },
    changed: watches.changed,
    remove: watches.remove,
    clear: watches.clear,
  }
}
