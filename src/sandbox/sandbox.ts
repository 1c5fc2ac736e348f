import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { IsolateError, type Sandbox } from './isolate.ts'
import { createIsolateHost, type IsolateHost } from './isolate-host.ts'
import { defaultLimits, type SandboxLimits } from './limits.ts'
import { createPluginCalls } from './plugin-calls.ts'
import { createWorkerThread } from './worker-thread.ts'

export interface SandboxSettings {
  clock: Clock
  logger: Logger
  limits?: Partial<SandboxLimits>
  /** `shared` is not there yet: every plugin gets a worker of its own, with a warning. */
  isolation?: 'dedicated' | 'shared'
}

/** Runs plugins, each in a worker thread of its own. */
export function createSandbox(settings: SandboxSettings): Sandbox {
  const { clock, logger } = settings
  const limits: SandboxLimits = { ...defaultLimits, ...settings.limits }
  const isolates = new Set<IsolateHost>()
  const pluginCalls = createPluginCalls()
  let lastNumber = 0
  let closed = false
  if (settings.isolation === 'shared') {
    logger.warn('Shared isolation is not available yet; every plugin gets a worker of its own')
  }

  return {
    get references() {
      return pluginCalls.references
    },
    async load(source, services) {
      if (closed) throw new IsolateError('worker_died', 'the host is shutting down')
      lastNumber += 1
      const thread = createWorkerThread({ clock, logger, limits, name: source.id })
      const isolate = createIsolateHost({
        clock,
        logger,
        limits,
        thread,
        number: lastNumber,
        source,
        services,
        pluginCalls,
      })
      isolates.add(isolate)
      void isolate.ended.then(() => isolates.delete(isolate))
      await isolate.load()
      return isolate
    },
    usage: () => [...isolates].map((isolate) => isolate.usage()),
    async close() {
      closed = true
      await Promise.all([...isolates].map((isolate) => isolate.close()))
    },
  }
}
