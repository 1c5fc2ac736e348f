import type { Isolate } from '../../sandbox/isolate.ts'
import type { LoadedPlugin } from './loaded-plugin.ts'

/** Events and messages that may wait for a plugin while its onInit runs; later ones are dropped. */
const waitingDeliveries = 1_000

/** The bytes are somebody else's: what waits for the end of onInit has a copy. */
export function deliver(
  plugin: LoadedPlugin,
  bytes: Uint8Array,
  action: (isolate: Isolate, bytes: Uint8Array) => void,
): void {
  if (plugin.isolate !== undefined) action(plugin.isolate, bytes)
  else if (plugin.waiting.length < waitingDeliveries) {
    const kept = Uint8Array.from(bytes)
    plugin.waiting.push((isolate) => action(isolate, kept))
  }
}
