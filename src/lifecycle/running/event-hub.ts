import { getOrInsert } from '../../base/get-or-insert.ts'
import { hasWildcard } from '../../base/text/part-pattern.ts'
import { createPartPatterns, type PartPatterns } from '../../base/text/part-patterns.ts'
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
  /** Of each plugin that listens to patterns. */
  const patternsOf = new Map<string, { patterns: PartPatterns; deliver: Deliver }>()
  let matching = findMatching()

  /** The plugins with a pattern that means a name; names come again and again. */
  function findMatching(): (name: string) => string[] {
    return memoize((name) =>
      [...patternsOf].filter(([, { patterns }]) => patterns.matches(name)).map(([plugin]) => plugin),
    )
  }

  function remove(plugin: string, name: string): void {
    const ofName = listeners.get(name)
    if (!ofName?.delete(plugin)) return
    const patterns = patternsOf.get(plugin)?.patterns
    if (patterns?.delete(name) === true) {
      if (patterns.size === 0) patternsOf.delete(plugin)
      matching = findMatching()
    }
    if (ofName.size > 0) return
    listeners.delete(name)
    namesChanged()
  }

  return {
    subscribe(plugin, name, deliver) {
      const isNew = !listeners.has(name)
      getOrInsert(listeners, name, () => new Map<string, Deliver>()).set(plugin, deliver)
      if (isNew) namesChanged()
      if (!hasWildcard(name, ':')) return
      const { patterns } = patternsOf.get(plugin) ?? { patterns: createPartPatterns(':') }
      patterns.add(name)
      patternsOf.set(plugin, { patterns, deliver })
      matching = findMatching()
    },
    unsubscribe: remove,
    unsubscribeAll(plugin) {
      if (patternsOf.delete(plugin)) matching = findMatching()
      for (const name of [...listeners.keys()]) remove(plugin, name)
    },
    emit(name, data, from) {
      const ofName = listeners.get(name)
      const found = patternsOf.size === 0 ? [] : matching(name)
      if (ofName === undefined && found.length === 0) return 0
      // Its worker knows which of its listeners are meant.
      const reached = new Map(ofName)
      for (const plugin of found) {
        const deliver = patternsOf.get(plugin)?.deliver
        if (deliver !== undefined) reached.set(plugin, deliver)
      }
      for (const deliver of reached.values()) deliver(name, data, from)
      return reached.size
    },
    names: () => [...listeners.keys()],
    onNames: (listener) => void (namesChanged = listener),
    count: (plugin) => [...listeners.values()].filter((ofName) => ofName.has(plugin)).length,
  }
}
