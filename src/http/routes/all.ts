import type { Fleet, LifecycleFacade } from '../../lifecycle/facade.ts'
import type { Health, System } from '../../schema/api/system.ts'
import type { Access } from '../access/access.ts'
import type { EventStream } from '../streams/event-stream.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Route } from '../route.ts'
import { descriptionRoutes } from './description.ts'
import { documentRoutes } from './documents.ts'
import { eventRoutes } from './events.ts'
import { hookRoutes } from './hooks.ts'
import { hostRoutes } from './hosts.ts'
import { historyRoutes } from './history.ts'
import { machineRoutes } from './machines.ts'
import { pluginCommandRoutes } from './plugin-commands.ts'
import { pluginViewRoutes } from './plugin-views.ts'
import { pluginRoutes } from './plugins.ts'
import { repositoryRoutes } from './repositories.ts'
import { sessionRoutes } from './session.ts'
import { suggestionRoutes } from './suggestions.ts'
import { systemRoutes } from './system.ts'
import { webRoutes } from './web.ts'
import { webSocketRoutes } from './web-sockets.ts'

export interface RouteSettings {
  lifecycle: LifecycleFacade
  fleet?: Fleet | undefined
  events: EventStream
  metrics: Metrics
  access: Access
  system: () => Promise<System>
  hostVersion: string
  /** What a proxy takes off addresses of this host; empty: nothing. */
  basePath: string
  readiness: () => Health
}

/** Every address of the API. */
export function allRoutes(settings: RouteSettings): Route[] {
  const { lifecycle, events, access, hostVersion, basePath } = settings
  const routes: Route[] = [
    ...pluginRoutes(lifecycle),
    ...pluginCommandRoutes(lifecycle),
    ...pluginViewRoutes(lifecycle),
    ...hostRoutes(lifecycle, settings.fleet),
    ...hookRoutes(lifecycle),
    ...documentRoutes(lifecycle),
    ...historyRoutes(lifecycle),
    ...suggestionRoutes(lifecycle),
    ...repositoryRoutes(lifecycle),
    ...eventRoutes(lifecycle, events),
    ...machineRoutes(),
    ...systemRoutes(lifecycle, settings),
    ...sessionRoutes(access),
    ...webSocketRoutes(),
    ...webRoutes(basePath),
    ...descriptionRoutes(() => routes, hostVersion, basePath),
  ]
  return routes
}
