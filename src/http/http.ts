import type { IncomingMessage } from 'node:http'
import type { ClientAddresses } from '../base/network/client-address.ts'
import type { Clock } from '../base/time/clock.ts'
import { urlHostOf } from '../base/network/loopback.ts'
import type { GuessLimit } from '../base/network/guess-limit.ts'
import type { Logger, LogLevel } from '../base/log/log.ts'
import { shuttingDown } from '../base/problem.ts'
import type { TlsFiles } from '../base/keys/tls-files.ts'
import { createWarner } from '../base/log/warning.ts'
import type { Bus } from '../bus/bus.ts'
import type { Fleet, LifecycleFacade } from '../lifecycle/facade.ts'
import type { Health, IsolateUsage } from '../schema/api/system.ts'
import { createAccess } from './access/access.ts'
import { createApp } from './app.ts'
import { createEventStream } from './streams/event-stream.ts'
import { createHookRequests, hookRoute } from './hooks/hook-requests.ts'
import { createInspector } from './inspect/inspector.ts'
import { createMetrics } from './metrics/metrics.ts'
import { createProcessUsage } from './metrics/process-usage.ts'
import { basePathOf, createBasePathStripper } from './requests/base-path.ts'
import { originForm } from './requests/path.ts'
import { allRoutes } from './routes/all.ts'
import { createHttpServer } from './server/server.ts'
import { createSystemView } from './answers/system-view.ts'
import type { SharedRequests } from './requests/shared-requests.ts'
import type { StartGate } from './requests/start-gate.ts'
import { createUpgrades } from './server/upgrades.ts'

export interface HttpSettings {
  lifecycle: LifecycleFacade
  /** The hosts that this one works with; undefined: it works by itself. */
  fleet?: Fleet | undefined
  /** What those know of requests that are to act once. */
  requests?: SharedRequests | undefined
  /** What they are called together. */
  fleetName?: string | undefined
  /** Takes MQTT over WebSocket. */
  bus?: Bus
  logger: Logger
  clock: Clock
  bind: string
  /** 0: any free port. */
  port: number
  token: string | undefined
  /** What all listeners share. */
  guesses: GuessLimit
  addresses: ClientAddresses
  /** As others call this host, through a proxy. */
  publicUrl?: string | undefined
  /** Encrypts every connection. */
  tls?: TlsFiles | undefined
  hostVersion: string
  readiness: () => Health
  /** What every plugin's isolate takes. */
  isolates?: () => IsolateUsage[]
  /** Lines given to the log so far, by level. */
  logLines?: Readonly<Record<LogLevel, number>>
  /** Name of this host; null before it is known. */
  hostId: () => string | null
  /** Requests about the state wait for this; `/livez` and `/readyz` do not. */
  gate: StartGate
}

export interface Http {
  /** Base URL; only after `start`. */
  readonly url: string
  /** Event streams and inspectors that are open. */
  readonly listeners: number
  /** Resolves when it listens. Throws an Error that says what to do. */
  start(): Promise<void>
  /** Ends every stream and connection. Idempotent. */
  close(): Promise<void>
}

export function createHttp(settings: HttpSettings): Http {
  const { lifecycle, bus, clock, logger, bind, port, tls, guesses, addresses, gate } = settings
  const warn = createWarner(logger, clock)
  const basePath = basePathOf(settings.publicUrl)
  const access = createAccess({
    ...settings,
    basePath,
    port: () => server.port,
    secure: tls !== undefined,
  })
  const events = createEventStream({ lifecycle, hasEnded: access.hasEnded, clock, logger })
  const inspector = createInspector({ lifecycle, hasEnded: access.hasEnded, clock, logger })
  const processUsage = createProcessUsage(clock)
  const shared = {
    ...settings,
    bus,
    processUsage,
    isolates: settings.isolates ?? (() => []),
    clients: () => ({ eventStreams: events.clients, inspectors: inspector.clients }),
  }
  const metrics = createMetrics({
    ...shared,
    logLines: settings.logLines,
    cutOffs: () => guesses.cutOffs,
    refusals: () => ({ ...access.refusals, mqtt: bus?.wrongPasswords ?? 0 }),
  })
  const system = createSystemView({
    ...shared,
    url: baseUrl,
    fleetName: settings.fleetName ?? null,
  })
  const routes = allRoutes({ ...settings, basePath, events, metrics, system, access })
  const stripBasePath = createBasePathStripper(basePath, [hookRoute, ...routes.map(({ path }) => path)])
  const app = createApp({
    ...settings,
    ...{ routes, basePath, access },
    handled: metrics.requestHandled,
    hooks: createHookRequests({ lifecycle, access, addresses, clock, gate, warn }),
  })
  const answer = app.callback()
  const upgrade = createUpgrades({
    access,
    clock,
    handlers: {
      ...(bus === undefined ? {} : { '/mqtt': bus.handleUpgrade }),
      '/api/inspect': inspector.handleUpgrade,
    },
  })
  const server = createHttpServer({
    ...{ bind, port, clock, tls },
    handle: (request, response) => void answer(inside(request), response),
    isCutOff: (socket) =>
      !addresses.isProxy(socket) && guesses.cutOffLeft(addresses.ofConnection(socket)) > 0,
    refused: (reason) => warn(`An HTTP connection was refused: ${reason}`),
    short: warn,
    upgrade: (request, socket, head) => upgrade(inside(request), socket, head),
  })

  function inside(request: IncomingMessage): IncomingMessage {
    request.url = stripBasePath(originForm(request.url ?? '', request.headers.host))
    return request
  }

  function baseUrl(): string {
    return `${tls === undefined ? 'http' : 'https'}://${urlHostOf(bind)}:${server.port}`
  }

  return {
    get url() {
      return baseUrl()
    },
    get listeners() {
      return events.clients + inspector.clients
    },
    async start() {
      await server.start()
      processUsage.start()
    },
    async close() {
      gate.close(shuttingDown())
      events.close()
      metrics.close()
      processUsage.close()
      // Side by side: the grace of answers under way begins now, whatever an inspector takes to say goodbye.
      await Promise.all([inspector.close(), server.close()])
    },
  }
}
