import {
  type ChosenLimits,
  defaultPluginLimits,
  limitNames,
  type PluginLimits,
} from '../schema/plugin/plugin-limits.ts'

/** What a plugin may take besides what its owner may set (`schema/plugin/plugin-limits.ts`). Times in milliseconds. */
const fixedLimits = {
  /** From the start of the worker until the init callback has come back. Longer than `loadTime`, so that the error with the line comes first. */
  loadDeadline: 30_000,
  /** Lua in the clean-up callback. */
  cleanupTime: 5_000,
  /** From the request to unload until the worker is ended by force: the time for onCleanup, and some to let go of everything. */
  unloadDeadline: 7_000,
  /**
   * How long what onCleanup sends to machines elsewhere may take; the worker has ended then. A switch on the local network
   * answers at once; one that is gone must not hold up the unload.
   */
  lastWordsDeadline: 2_000,
  /** For a control's setter, from the request to the answer. */
  controlDeadline: 5_000,
  /** For the answer of another plugin, or of the host, that a plugin waits for: it cannot do anything else. */
  callDeadline: 5_000,
  /** How often a worker is asked for a sign of life. */
  heartbeatInterval: 2_000,
  /** Silence after which it is ended. Longer than a callback may take: who is stopped by Lua's own limit need not be ended. */
  unresponsiveAfter: 8_000,
  /** How long a batch may wait for those who are to read it before the worker gets credit again. */
  drainDeadline: 1_000,
  /** Bytes that a plugin may ask of the host at once after a rest, as `operationBurst` is of operations. */
  byteBurst: 8 * 1024 * 1024,
  /** Between two warnings that a plugin is slowed down. */
  slowdownNotice: 60_000,
  /** Bytes of objects, sensors, controls and exposures, roughly, of which the host keeps a copy. */
  keptBytes: 16 * 1024 * 1024,
  /** Bytes of events and messages, roughly, that may wait for a slow plugin; further ones are dropped. A burst of 50,000 small ones. */
  deliveryBytes: 8 * 1024 * 1024,
  /** Megabytes of a worker, besides the old generation of its heap, which `memory` is. */
  youngGenerationMegabytes: 16,
  codeMegabytes: 32,
  stackMegabytes: 4,
  /** How long a worker of its own waits for its plugin to be loaded again: after a reload, or when it is switched off and on. */
  keptWorkerTime: 10_000,
  /** How much may be in it then. A worker that waits takes some 10 MB. */
  keptWorkerMegabytes: 32,
  /** From here on: workers that plugins share. How often the host looks whose turn it is there. */
  beatInterval: 50,
  /**
   * Beats that a plugin which cannot be set aside may have such a worker; then it gets one of its own. 0.4 s: longer than any
   * callback that has thought of its neighbours, and their time with it stays below 1 s.
   */
  stretchBeats: 8,
  /** The same for the chunk with the init callback. */
  loadBeats: 16,
  /**
   * Beats without a sign that it can be stopped, after which the worker is ended. Lua gives one every millisecond; that leaves
   * more than half a second to come back.
   */
  hangBeats: 8,
  /** Over so many beats a plugin may keep the worker from its neighbours for this share of them, 0 to 1. */
  windowBeats: 100,
  windowShare: 0.5,
  /** Beats without anybody's turn after which the host beats no more until there is one, so that it is not woken while there is nothing to do. */
  restBeats: 2,
  /** Isolates in one worker at most: so many are down together when one of them takes the worker along. */
  isolatesPerWorker: 128,
  /** The same where they are to be back within a second on a small machine. */
  isolatesInLargeGroup: 48,
  /** The same as long as there are few of them; of many, this share of all, 0 to 1, as each worker takes memory of its own. */
  isolatesInSmallGroup: 16,
  shareInOneWorker: 1 / 8,
  /** A worker with fewer takes the next one, before there is another worker. */
  isolatesBeforeNextWorker: 5,
  /** An idle plugin takes a sixth of a megabyte of it, so all of them have ten times as much as they need. */
  sharedHeapMegabytes: 256,
  /** Of Lua strings, which `worker/lua/` holds to it. */
  sharedStringMegabytes: 64,
  /** Share of the two at which the plugin that has grown most gets a worker of its own, 0 to 1. */
  sharedMemoryShare: 0.75,
  /**
   * Up to so many megabytes a worker of its own stays where the machine is short of memory; one that shares may have grown by.
   * Four times what an idle one takes, and a hundred times.
   */
  sparedMegabytes: 48,
  sparedGrowthMegabytes: 16,
  /** Megabytes of Lua strings at most in a worker of its own, whatever its heap lets it: where the machine has less. */
  ownStringMegabytes: Number.POSITIVE_INFINITY,
  /** From the use of the worker that is kept ready until the next one is started: whoever has just moved in has the processor first. */
  spareDelay: 1_000,
}

export type SandboxLimits = PluginLimits & { [L in keyof typeof fixedLimits]: number }

export const defaultLimits: Readonly<SandboxLimits> = Object.freeze({
  ...defaultPluginLimits,
  ...fixedLimits,
})

/** How many times as much as its heap a worker may have outside of it. */
const outsideShare = 2

/** Bytes that a worker may have outside its heap. `heapMegabytes`: when it is the plugin's own; else it is shared. */
export function outsideBytes(limits: SandboxLimits, heapMegabytes?: number): number {
  const megabytes =
    heapMegabytes === undefined
      ? limits.sharedStringMegabytes
      : Math.min(heapMegabytes * outsideShare, limits.ownStringMegabytes)
  return megabytes * 1024 * 1024
}

/** Milliseconds between Lua's own limit and the end of the worker. */
const graceAfterLua = 3_000
const graceAfterLoad = 10_000

/** Those that an owner may set. */
export function ownersLimits(limits: SandboxLimits): PluginLimits {
  return Object.fromEntries(limitNames.map((name) => [name, limits[name]])) as PluginLimits
}

/** With what an owner has chosen for one plugin; what hangs together with it follows. */
export function withChosen(limits: SandboxLimits, chosen: ChosenLimits): SandboxLimits {
  const { callbackTime = 0, loadTime = 0, bytesPerSecond = 0 } = chosen
  const merged = { ...limits, ...chosen }
  if (callbackTime > 0)
    merged.unresponsiveAfter = Math.max(limits.unresponsiveAfter, callbackTime + graceAfterLua)
  if (loadTime > 0) merged.loadDeadline = Math.max(limits.loadDeadline, loadTime + graceAfterLoad)
  if (bytesPerSecond > 0) merged.byteBurst = Math.max(limits.byteBurst, bytesPerSecond * 2)
  return merged
}
