import { hasWildcard, partPattern } from '../../base/text/part-pattern.ts'
import { memoize } from '../../base/memoize.ts'
import type { SerializedJson } from '../../base/text/serialized-json.ts'

/** `from`: full id of who has emitted it. */
type Deliver = (name: string, data: SerializedJson, from: string) => void

/**
 * Carries `plugin:emit()` to the plugins that listen. Names have no namespace: all plugins share them. One that is listened
 * to may have `*` for a part between colons.
 */
export interface EventHub {
  subscribe(plugin: string, name: string, deliver: Deliver): void
  unsubscribe(plugin: string, name: string): void
  unsubscribeAll(plugin: string): void
  /** Answers how many plugins it has reached, each once. */
  emit(name: string, data: SerializedJson, from: string): number
  /** Names and patterns that somebody listens to. */
  names(): string[]
  /** Called when those have changed; one listener. */
  onNames(listener: () => void): void
  /** Event names that this plugin listens to. */
  count(plugin: string): number
}

export function createEventHub(): EventHub {
  /** By event name, then by plugin. */
  const listeners = new Map<string, Map<string, Deliver>>()
  let namesChanged = (): void => undefined
  const patterns = new Map<string, (name: string) => boolean>()
  let matching = findMatching()

  /** The patterns that mean a name; there are few, and names come again and again. */
  function findMatching(): (name: string) => string[] {
    return memoize((name) => [...patterns].filter(([, matches]) => matches(name)).map(([pattern]) => pattern))
  }

  function remove(plugin: string, name: string): void {
    const ofName = listeners.get(name)
    if (!ofName?.delete(plugin) || ofName.size > 0) return
    listeners.delete(name)
    namesChanged()
    if (patterns.delete(name)) matching = findMatching()
  }

  return {
    subscribe(plugin, name, deliver) {
      const ofName = listeners.get(name) ?? new Map<string, Deliver>()
      const isNew = !listeners.has(name)
      listeners.set(name, ofName.set(plugin, deliver))
      if (isNew) namesChanged()
      if (patterns.has(name) || !hasWildcard(name, ':')) return
      patterns.set(name, partPattern(name, ':'))
      matching = findMatching()
    },
    unsubscribe: remove,
    unsubscribeAll(plugin) {
      for (const name of [...listeners.keys()]) remove(plugin, name)
    },
    emit(name, data, from) {
      const ofName = listeners.get(name)
      const found = patterns.size === 0 ? [] : matching(name)
      if (ofName === undefined && found.length === 0) return 0
      // Its worker knows which of its listeners are meant.
      const reached = new Map(ofName)
      for (const pattern of found)
        for (const [plugin, deliver] of listeners.get(pattern) ?? []) reached.set(plugin, deliver)
      for (const deliver of reached.values()) deliver(name, data, from)
      return reached.size
    },
    names: () => [...listeners.keys()],
    onNames: (listener) => void (namesChanged = listener),
    count: (plugin) => [...listeners.values()].filter((ofName) => ofName.has(plugin)).length,
  }
}
