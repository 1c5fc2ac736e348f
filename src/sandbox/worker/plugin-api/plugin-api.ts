import type { PluginContext } from '../plugin-context.ts'
import { installCoercion } from './coercion.ts'
import { installConnections, type PluginConnections } from './connections/connections.ts'
import { installEvents, type PluginEvents } from './events.ts'
import { installExpose, type PluginExposures } from './expose.ts'
import { installFormats } from './formats.ts'
import { installHttp } from './http.ts'
import { installHttpHandlers, type PluginHttpHandlers } from './http-handlers.ts'
import { installJson } from './json.ts'
import { installKeyValues } from './key-value.ts'
import { installLogging } from './logging.ts'
import { installModbus } from './modbus.ts'
import { installModules } from './modules.ts'
import { installMqtt, type PluginMqtt } from './mqtt.ts'
import { installObjects } from './objects.ts'
import { installOtherPlugins } from './other-plugins.ts'
import { installPlugin, type PluginInstances } from './plugin.ts'
import { installPollers } from './pollers.ts'
import { installPoints, type PluginPoints } from './points.ts'
import { installSchedules, type PluginSchedules } from './schedules.ts'
import { installTimers } from './timers.ts'
import { installWatches, type PluginWatches } from './watches.ts'
import { installWebHelpers } from './web-helpers.ts'

/** What the host side can ask of the parts. */
export interface PluginApi {
  plugin: PluginInstances
  events: PluginEvents
  mqtt: PluginMqtt
  points: PluginPoints
  exposures: PluginExposures
  schedules: PluginSchedules
  watches: PluginWatches
  connections: PluginConnections
  httpHandlers: PluginHttpHandlers
}

/** Puts the whole plugin API into a Lua state: one part a file, each on its own. */
export function installPluginApi(context: PluginContext): PluginApi {
  context.runtime.globals.set('Plugin', context.pluginClass)
  installLogging(context)
  const timers = installTimers(context)
  installPollers(context)
  installKeyValues(context)
  installCoercion(context)
  installJson(context)
  installWebHelpers(context)
  installFormats(context)
  installHttp(context)
  installModbus(context)
  installObjects(context)
  installModules(context)
  const points = installPoints(context)
  installOtherPlugins(context, points)
  const api = {
    plugin: installPlugin(context),
    events: installEvents(context),
    mqtt: installMqtt(context),
    points,
    exposures: installExpose(context, points),
    schedules: installSchedules(context, timers),
    watches: installWatches(context),
    connections: installConnections(context),
    httpHandlers: installHttpHandlers(context),
  }
  context.runtime.settleTable('Plugin', context.pluginClass)
  return api
}
