import type { SerializedJson } from '../../base/serialized-json.ts'

type Deliver = (name: string, data: SerializedJson) => void

/** Carries `plugin:emit()` to the plugins that listen. Names have no namespace: all plugins share them. */
export interface EventHub {
  subscribe(plugin: string, name: string, deliver: Deliver): void
  unsubscribe(plugin: string, name: string): void
  unsubscribeAll(plugin: string): void
  /** Answers how many plugins it has reached. */
  emit(name: string, data: SerializedJson): number
  /** Event names that this plugin listens to. */
  count(plugin: string): number
}

export function createEventHub(): EventHub {
  /** By event name, then by plugin. */
  const listeners = new Map<string, Map<string, Deliver>>()

  function remove(plugin: string, name: string): void {
    const ofName = listeners.get(name)
    if (ofName?.delete(plugin) && ofName.size === 0) listeners.delete(name)
  }

  return {
    subscribe(plugin, name, deliver) {
      const ofName = listeners.get(name) ?? new Map<string, Deliver>()
      listeners.set(name, ofName.set(plugin, deliver))
    },
    unsubscribe: remove,
    unsubscribeAll(plugin) {
      for (const name of [...listeners.keys()]) remove(plugin, name)
    },
    emit(name, data) {
      const ofName = listeners.get(name)
      if (ofName === undefined) return 0
      const reached = [...ofName.values()]
      for (const deliver of reached) deliver(name, data)
      return reached.length
    },
    count: (plugin) => [...listeners.values()].filter((ofName) => ofName.has(plugin)).length,
  }
}
