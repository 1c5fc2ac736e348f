import {
  type ChosenLimits,
  defaultPluginLimits,
  limitNames,
  type PluginLimits,
} from '../schema/plugin/plugin-limits.ts'
import type { WorkerLimits } from '../schema/worker/worker-protocol.ts'

/** Three of an owner's limits have another name here. */
const { memory, callbackTime, loadTime, ...sameName } = defaultPluginLimits

/** What a plugin may take. Times in milliseconds. What is not here is as `schema/plugin/plugin-limits.ts` says. */
export interface SandboxLimits extends Omit<PluginLimits, 'memory' | 'callbackTime' | 'loadTime'> {
  /** From the start of the worker until the init callback has come back. */
  loadDeadline: number
  /** From the request to unload until the worker is ended by force. */
  unloadDeadline: number
  /** How long what onCleanup sends to machines elsewhere may take; the worker has ended then. */
  lastWordsDeadline: number
  /** For a control's setter, from the request to the answer. */
  controlDeadline: number
  /** For the answer of another plugin, or of the host, that a plugin waits for. */
  callDeadline: number
  /** Lua's own limits: the chunk with the init callback, any other callback, the clean-up callback. */
  luaLoad: number
  luaCallback: number
  luaCleanup: number
  /** How often a worker is asked for a sign of life, and after how much silence it is ended. */
  heartbeatInterval: number
  unresponsiveAfter: number
  /** How long a batch may wait for those who are to read it before the worker gets credit again. */
  drainDeadline: number
  /** Bytes that a plugin may ask of the host at once after a rest, as `operationBurst` is of operations. */
  byteBurst: number
  /** Milliseconds between two warnings that a plugin is slowed down. */
  slowdownNotice: number
  /** Bytes of objects, sensors, controls and exposures, roughly, of which the host keeps a copy. */
  keptBytes: number
  /** Bytes of events and messages, roughly, that may wait for a slow plugin; further ones are dropped. */
  deliveryBytes: number
  /** Megabytes of a worker's heap: an idle plugin takes about 12. */
  oldGenerationMegabytes: number
  youngGenerationMegabytes: number
  codeMegabytes: number
  stackMegabytes: number
  /**
   * How long a worker of its own waits for its plugin to be loaded again, and how much may be in it then. A worker that
   * waits takes some 10 MB.
   */
  keptWorkerTime: number
  keptWorkerMegabytes: number
  /** From here on: workers that plugins share. How often the host looks whose turn it is there. */
  beatInterval: number
  /** Beats that a plugin which cannot be set aside may have such a worker; then it gets one of its own. */
  stretchBeats: number
  /** The same for the chunk with the init callback. */
  loadBeats: number
  /** Beats without a sign that it can be stopped, after which the worker is ended. */
  hangBeats: number
  /** Over so many beats a plugin may keep the worker from its neighbours for this share of them, 0 to 1. */
  windowBeats: number
  windowShare: number
  /** Isolates in one worker at most: so many are down together when one of them takes the worker along. */
  isolatesPerWorker: number
  /** The same where they are to be back within a second on a small machine. */
  isolatesInLargeGroup: number
  /** The same as long as there are few of them; of many, this share of all, 0 to 1, as each worker takes memory of its own. */
  isolatesInSmallGroup: number
  shareInOneWorker: number
  /** A worker with fewer takes the next one, before there is another worker. */
  isolatesBeforeNextWorker: number
  sharedHeapMegabytes: number
  /** Of Lua strings, which `worker/lua/` holds to it. */
  sharedStringMegabytes: number
  /** Share of the two at which the plugin that has grown most gets a worker of its own, 0 to 1. */
  sharedMemoryShare: number
  /** Up to so many megabytes a worker of its own stays where the machine is short of memory; one that shares may have grown by. */
  sparedMegabytes: number
  sparedGrowthMegabytes: number
  /** Megabytes of Lua strings at most in a worker of its own, whatever its heap. */
  ownStringMegabytes: number
  /** From the use of the worker that is kept ready until the next one is started. */
  spareDelay: number
}

export const defaultLimits: Readonly<SandboxLimits> = Object.freeze({
  ...sameName,
  // Longer than Lua's own limit, so that the error with the line comes first.
  loadDeadline: 30_000,
  luaLoad: loadTime,
  // The time for onCleanup, and some to let go of everything afterwards.
  luaCleanup: 5_000,
  unloadDeadline: 7_000,
  // A switch on the local network answers at once; one that is gone must not hold up the unload.
  lastWordsDeadline: 2_000,
  controlDeadline: 5_000,
  // A plugin that waits cannot do anything else.
  callDeadline: 5_000,
  luaCallback: callbackTime,
  heartbeatInterval: 2_000,
  // Longer than a callback may take: who is stopped by Lua's own limit need not be ended.
  unresponsiveAfter: 8_000,
  drainDeadline: 1_000,
  byteBurst: 8 * 1024 * 1024,
  slowdownNotice: 60_000,
  keptBytes: 16 * 1024 * 1024,
  // A burst of 50,000 small messages, while the plugin is busy with the first.
  deliveryBytes: 8 * 1024 * 1024,
  oldGenerationMegabytes: memory,
  youngGenerationMegabytes: 16,
  codeMegabytes: 32,
  stackMegabytes: 4,
  // A reload, or somebody who switches a plugin off and on again.
  keptWorkerTime: 10_000,
  keptWorkerMegabytes: 32,
  beatInterval: 50,
  // 0.4 s: longer than any callback that has thought of its neighbours, and their time with it stays below 1 s.
  stretchBeats: 8,
  loadBeats: 16,
  // 0.4 s without a sign, where Lua gives one every millisecond; that leaves more than half a second to come back.
  hangBeats: 8,
  windowBeats: 100,
  windowShare: 0.5,
  isolatesPerWorker: 128,
  isolatesInLargeGroup: 48,
  isolatesInSmallGroup: 16,
  shareInOneWorker: 1 / 8,
  isolatesBeforeNextWorker: 5,
  // An idle plugin takes a sixth of a megabyte of it, so all of them have ten times as much as they need.
  sharedHeapMegabytes: 256,
  sharedStringMegabytes: 64,
  sharedMemoryShare: 0.75,
  // Four times what an idle one takes, and a hundred times.
  sparedMegabytes: 48,
  sparedGrowthMegabytes: 16,
  // As much as its heap lets it, where the machine has so much.
  ownStringMegabytes: Number.POSITIVE_INFINITY,
  // The plugins that have just moved there have the processor first.
  spareDelay: 1_000,
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

/** The limits under the names by which an owner knows them. */
export function ownersView(limits: SandboxLimits): PluginLimits {
  const { oldGenerationMegabytes, luaCallback, luaLoad } = limits
  const all = { ...limits, memory: oldGenerationMegabytes, callbackTime: luaCallback, loadTime: luaLoad }
  return Object.fromEntries(limitNames.map((name) => [name, all[name]])) as PluginLimits
}

/** Those that the worker itself keeps. */
export function workerLimits(limits: SandboxLimits): WorkerLimits {
  const {
    memory: _memory,
    callbackTime: _callbackTime,
    loadTime: _loadTime,
    operationsPerSecond: _operationsPerSecond,
    operationBurst: _operationBurst,
    bytesPerSecond: _bytesPerSecond,
    ...kept
  } = ownersView(limits)
  return kept
}

/** With what an owner has chosen for one plugin; what hangs together with it follows. */
export function withChosen(limits: SandboxLimits, chosen: ChosenLimits): SandboxLimits {
  const { memory, callbackTime, loadTime, ...same } = chosen
  const merged: SandboxLimits = { ...limits, ...same }
  if (memory !== undefined) merged.oldGenerationMegabytes = memory
  if (callbackTime !== undefined) {
    merged.luaCallback = callbackTime
    merged.unresponsiveAfter = Math.max(limits.unresponsiveAfter, callbackTime + graceAfterLua)
  }
  if (loadTime !== undefined) {
    merged.luaLoad = loadTime
    merged.loadDeadline = Math.max(limits.loadDeadline, loadTime + graceAfterLoad)
  }
  if (same.bytesPerSecond !== undefined)
    merged.byteBurst = Math.max(limits.byteBurst, same.bytesPerSecond * 2)
  return merged
}
