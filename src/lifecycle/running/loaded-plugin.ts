import type { BusSubscription } from '../../bus/bus.ts'
import type { Isolate, IsolateError } from '../../sandbox/isolate.ts'
import type { Guard } from '../permissions/guard.ts'
import type { FanOut } from './fan-out.ts'

/** A plugin while it is loaded, or being loaded. */
export interface LoadedPlugin {
  isolate: Isolate | undefined
  /** What arrived while onInit was still running: a retained message, say. Undefined: it has failed. */
  waiting: ((isolate: Isolate | undefined) => void)[]
  subscriptions: Map<number, Promise<BusSubscription | undefined>>
  /** What follows from what it says. */
  fanOut: FanOut
  guard: Guard
  /** HTTP requests that it may have under way. */
  httpRequests: number
  /** What it may have of what the host keeps for it. */
  limits: { schedules: number; watchers: number }
  /** It has been told that it can retain no more. */
  hasMetRetainedLimit: boolean
  /** Set when it has ended another plugin: its own end counts as a crash. */
  charged: IsolateError | undefined
  /** Set when the end of the isolate has been asked for. */
  unloading: boolean
  /** What it shows of itself stays when it is unloaded: another host runs it next. */
  staysShown: boolean
  /** Set when what it had is being cleaned up; once, or what is loaded after it would be cleaned up, too. */
  released: Promise<void> | undefined
}

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
    plugin.waiting.push((isolate) => isolate && action(isolate, kept))
  }
}
