import { dispatchByKind } from '../../base/dispatch-by-kind.ts'
import type { Clock } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { messageOf } from '../../base/problem.ts'
import { serializeJson } from '../../base/text/serialized-json.ts'
import type { OutsideAnswer } from '../../schema/outside/outside.ts'
import { type LogEntry, noResources, type Resources } from '../../schema/plugin/plugin.ts'
import { type LimitName, limitUnit } from '../../schema/plugin/plugin-limits.ts'
import type { KeyValue, Operation } from '../../schema/worker/operation.ts'
import { createFrameDispatcher, type ServeFrames } from './frame-dispatcher.ts'
import { createHeldResources } from './held-resources.ts'
import type { IsolateServices } from '../isolate.ts'
import { createKeptBytes } from './kept-bytes.ts'
import type { SandboxLimits } from '../limits.ts'
import type { Deliveries } from '../flow/deliveries.ts'
import { createOpenConnections } from './open-connections.ts'
import { createOpenCalls } from './open-calls.ts'
import { createStoredBytes } from './stored-bytes.ts'

export interface OperationDispatcherSettings {
  clock: Clock
  logger: Logger
  limits: SandboxLimits
  /** Full id. */
  plugin: string
  services: IsolateServices
  /** What the plugin has stored before it was loaded. */
  stored: Readonly<Record<string, KeyValue>>
  /** Told of the outcome of each call to machines elsewhere. */
  answer(number: number, answer: OutsideAnswer): void
  /** Takes what comes of a connection to the isolate. */
  deliver: Deliveries['connection']
  /** Does it in the plugin's next turn. */
  later(task: () => void): void
}

/** Does what one plugin asks of the host, and knows what the plugin has with it. */
export interface OperationDispatcher {
  /** A service that throws is the host's fault, and no reason to stop what comes after it. */
  serve(operation: Operation): void
  /** The same for what comes as frames. */
  readonly serveFrames: ServeFrames
  /** A line in the plugin's own log. */
  log(level: LogEntry['level'], message: string): void
  /** Told to the log and to the host, once for each. `value`: when it is not the plugin's own. */
  limitReached(limit: LimitName, value?: number): void
  /** What the isolate has counted in its tables. */
  resources: Readonly<Resources>
  /** What takes back all that the plugin has with the host, to be served; and forgets it. */
  release(): Operation[]
  /** Lets calls elsewhere end, for so many milliseconds, and what was written to connections go; then cuts it short. */
  finishOutside(milliseconds: number): Promise<void>
  abortOutside(): void
}

export function createOperationDispatcher(settings: OperationDispatcherSettings): OperationDispatcher {
  const { clock, logger, limits, plugin, services, stored, answer } = settings
  const held = createHeldResources(limits)
  const kept = createKeptBytes(limits.keptBytes)
  const admitKeyValue = createStoredBytes(limits.keyValueBytes, stored)
  const calls = createOpenCalls({ clock, services, answer })
  const connections = createOpenConnections({
    ...{ limits, services },
    deliver: settings.deliver,
    later: settings.later,
    warn: (message) => log('warn', message),
  })
  const told = new Set<LimitName>()
  let crampedAt = Number.NEGATIVE_INFINITY

  function warnOfRoom(): void {
    if (clock.monotonic() - crampedAt < limits.slowdownNotice) return
    crampedAt = clock.monotonic()
    log(
      'warn',
      `values were not taken over: the objects, sensors and controls of a plugin may have ${limits.keptBytes} bytes at most`,
    )
  }

  function limitReached(limit: LimitName, value = limits[limit]): void {
    if (told.has(limit)) return
    told.add(limit)
    log('warn', `limit reached: ${limit} is ${value}${limitUnit(limit)}`)
    services.limitReached(limit, value)
  }

  function log(level: LogEntry['level'], message: string): void {
    services.log(serializeJson({ at: new Date(clock.now()).toISOString(), level, message }))
  }

  const perform = dispatchByKind<Operation>({
    ...services,
    limitReached: ({ limit }) => limitReached(limit),
    resources({ resources }) {
      // In the order in which people read them.
      dispatcher.resources = { ...noResources, ...resources }
    },
    call: ({ number, call, foreignCaller }) => calls.start(number, call, foreignCaller),
    cancel: ({ number }) => calls.cancel(number),
    openConnection: ({ connection, target, foreignCaller }) =>
      connections.open(connection, target, foreignCaller),
    closeConnection: ({ connection }) => connections.close(connection),
    connectionTaken: ({ connection, bytes }) => connections.taken(connection, bytes),
    connectionOverlong: ({ connection, session, what }) =>
      connections.find(connection)?.overlong(session, what),
    connectionContinues: ({ connection, lastEventId, wait }) =>
      connections.find(connection)?.continues(lastEventId, wait),
  })

  function serve(operation: Operation): void {
    if (!kept.admit(operation)) {
      warnOfRoom()
      return
    }
    if (!held.note(operation) || (operation.kind === 'setKeyValue' && !admitKeyValue(operation))) {
      logger.error('A plugin worker asked for more than it may have', { plugin, operation: operation.kind })
      return
    }
    try {
      perform(operation)
    } catch (error) {
      const { kind } = operation
      logger.error('A service of the sandbox failed', { plugin, operation: kind, reason: messageOf(error) })
    }
  }

  const dispatcher: OperationDispatcher = {
    serve,
    serveFrames: createFrameDispatcher({
      ...{ logger, plugin, services, held, kept, connections },
      cramped: warnOfRoom,
    }),
    log,
    limitReached,
    resources: noResources,
    release: held.release,
    async finishOutside(milliseconds) {
      await Promise.all([calls.finish(milliseconds), connections.finish()])
    },
    abortOutside() {
      calls.abort()
      connections.abort()
    },
  }
  return dispatcher
}
