import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { Script } from 'node:vm'
import { MessageChannel } from 'node:worker_threads'
import type {
  HostMessage,
  LoadSource,
  WorkerMessage,
  WorkerSetup,
} from '../../schema/worker/worker-protocol.ts'
import { createCells, signalCells } from '../../schema/worker/shared-cells.ts'
import { packCodeCache } from './code-cache.ts'
import { createFlow } from '../flow/flow.ts'
import { defaultLimits } from '../limits.ts'
import { defaultPluginLimits } from '../../schema/plugin/plugin-limits.ts'

/** Milliseconds that the sample plugin may take, on a machine that has much else to do. */
const patience = 60_000

/**
 * Makes the code cache of the worker's program, as a part of the build. The program runs here, on a port that leads
 * nowhere, and loads a plugin: V8 compiles a function when it is called first, and only what is compiled is in the cache.
 * Rejects when the plugin does not load.
 */
export async function recordCodeCache(program: Uint8Array): Promise<Uint8Array> {
  const script = new Script(Buffer.from(program).toString('latin1'))
  const run = script.runInThisContext() as (require: (name: string) => unknown) => void
  const urgent = new MessageChannel()
  const setup: WorkerSetup = { urgent: urgent.port1, signal: createCells(signalCells) }
  const said = new EventEmitter<{ message: [WorkerMessage] }>()
  const port = Object.assign(new EventEmitter<{ message: [HostMessage] }>(), {
    postMessage: (message: WorkerMessage) => said.emit('message', message),
  })
  const require = createRequire(import.meta.url)
  const threads = { ...(require('node:worker_threads') as object), parentPort: port, workerData: setup }
  run((name) => (name === 'node:worker_threads' ? threads : require(name)))
  const loaded = new Promise<void>((resolve, reject) => {
    // A program with a mistake may say nothing at all.
    const late = setTimeout(() => reject(new Error('The sample plugin was not loaded in time')), patience)
    said.on('message', (message) => {
      if (message.kind !== 'loaded' && message.kind !== 'loadFailed') return
      clearTimeout(late)
      if (message.kind === 'loaded') resolve()
      else reject(new Error(message.failure.message))
    })
  })
  port.emit('message', load)
  await loaded
  port.emit('message', { kind: 'unload', isolate: load.isolate })
  urgent.port2.close()
  return packCodeCache(program, script.createCachedData())
}

/** What nearly every plugin does while it is loaded. What others need is compiled when they need it. */
const chunk = `
local plugin = Plugin:new("sample")
plugin:onInit(function(config)
  plugin:log("info", ("%s %d"):format(tostring(config.name), 1))
  plugin:setInterval(60000, function() end)
  plugin:on("sample:event", function() end)
  plugin:mqttSubscribe("sample/topic", function() end)
  plugin:sensor("sample", function() return 1 end):notify()
  plugin:emit("sample", { value = 1 })
  table.insert({}, (pcall(string.find, "a", "b")))
end)
return plugin
`

const source: LoadSource = {
  ...{ id: '@sample/sample', shortId: 'sample', namespace: 'sample', name: 'Sample', version: '1.0.0' },
  description: null,
  files: { 'init.lua': new TextEncoder().encode(chunk) },
  config: { name: 'sample' },
  ...{ secrets: [], keyValues: {}, controls: [], retained: [] },
  publicHooks: false,
  topics: { root: 'lupine', plugin: '@sample/sample', permitted: { publish: ['#'], subscribe: ['#'] } },
}

const load: Extract<HostMessage, { kind: 'load' }> = {
  ...{ kind: 'load', isolate: 1, source },
  limits: defaultPluginLimits,
  cleanupTime: defaultLimits.cleanupTime,
  callDeadline: defaultLimits.callDeadline,
  outsideBytes: Number.POSITIVE_INFINITY,
  flow: createFlow(defaultLimits.deliveryBytes).buffer,
}
