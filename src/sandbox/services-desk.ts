import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { messageOf } from '../base/problem.ts'
import type { OutsideAnswer } from '../schema/outside.ts'
import { type LogEntry, noResources, type Resources } from '../schema/plugin.ts'
import { type LimitName, limitUnit } from '../schema/plugin-limits.ts'
import type { Operation } from '../schema/worker-protocol.ts'
import { createHeldThings } from './held-things.ts'
import type { IsolateServices } from './isolate.ts'
import { createKeptBytes } from './kept-bytes.ts'
import { ownersView, type SandboxLimits } from './limits.ts'
import { perform } from './operations.ts'
import { createOpenCalls } from './outside-calls.ts'

export interface ServicesDeskSettings {
  clock: Clock
  logger: Logger
  limits: SandboxLimits
  /** Full id. */
  plugin: string
  services: IsolateServices
  /** Told of the outcome of each call to machines elsewhere. */
  answer(number: number, answer: OutsideAnswer): void
}

/** Does what one plugin asks of the host, and knows what the plugin has with it. */
export interface ServicesDesk {
  /** A service that throws is the host's fault, and no reason to stop what comes after it. */
  serve(operation: Operation): void
  /** A line in the plugin's own log. */
  say(level: LogEntry['level'], message: string): void
  /** Told to the log and to the host, once for each. */
  limitReached(limit: LimitName): void
  /** What the isolate has counted in its tables. */
  resources: Resources
  /** Takes back all that the plugin has with the host. */
  release(): void
  /** Lets calls elsewhere end, for so many milliseconds; then cuts them short. */
  finishCalls(milliseconds: number): Promise<void>
  abortCalls(): void
}

export function createServicesDesk(settings: ServicesDeskSettings): ServicesDesk {
  const { clock, logger, limits, plugin, services, answer } = settings
  const held = createHeldThings(limits)
  const kept = createKeptBytes(limits.keptBytes)
  const calls = createOpenCalls({
    clock,
    request: (call, signal) => services.request(call, signal),
    answer,
  })
  const told = new Set<LimitName>()
  let crampedAt = Number.NEGATIVE_INFINITY

  function warnOfRoom(): void {
    if (clock.monotonic() - crampedAt < limits.slowdownNotice) return
    crampedAt = clock.monotonic()
    say(
      'warn',
      `values were not taken over: the objects, sensors and controls of a plugin may have ${limits.keptBytes} bytes at most`,
    )
  }

  function limitReached(limit: LimitName): void {
    if (told.has(limit)) return
    told.add(limit)
    const value = ownersView(limits)[limit]
    say('warn', `limit reached: ${limit} is ${value}${limitUnit(limit)}`)
    services.limitReached?.(limit, value)
  }

  function say(level: LogEntry['level'], message: string): void {
    serve({ kind: 'log', entry: { at: new Date(clock.now()).toISOString(), level, message } })
  }

  function serve(operation: Operation): void {
    if (!kept.admit(operation)) {
      warnOfRoom()
      return
    }
    if (!held.note(operation)) {
      logger.error('A plugin worker asked for more than it may have', { plugin, operation: operation.kind })
      return
    }
    try {
      if (operation.kind === 'limitReached') limitReached(operation.limit)
      else if (operation.kind === 'resources') desk.resources = operation.resources
      else if (operation.kind === 'call') calls.start(operation.number, operation.call)
      else if (operation.kind === 'cancel') calls.cancel(operation.number)
      else perform(services, operation)
    } catch (error) {
      logger.error('A service of the sandbox failed', {
        plugin,
        operation: operation.kind,
        reason: messageOf(error),
      })
    }
  }

  const desk: ServicesDesk = {
    serve,
    say,
    limitReached,
    resources: { ...noResources },
    release() {
      for (const operation of held.release()) serve(operation)
    },
    finishCalls: (milliseconds) => calls.finish(milliseconds),
    abortCalls: () => calls.abort(),
  }
  return desk
}
