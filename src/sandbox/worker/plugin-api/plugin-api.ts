import type { LuaFunction, LuaRuntime, LuaTable } from '../lua/lua-value.ts'
import type { PluginContext, TableName } from '../plugin-context.ts'
import { installCoercion } from './coercion.ts'
import { installConnections } from './connections/connections.ts'
import { installEvents } from './events.ts'
import { installExpose } from './exposures/expose.ts'
import { installFormats } from './formats.ts'
import { installHttp } from './http/http.ts'
import { installHttpHandlers } from './http/http-handlers.ts'
import { installJson } from './json.ts'
import { installKeyValues } from './key-value.ts'
import { installLogging } from './logging.ts'
import { installModbus } from './connections/modbus.ts'
import { installModules } from './modules.ts'
import { installMqtt } from './mqtt.ts'
import { globalFunctions, type PartName, partOf, tableFields } from './names.ts'
import { installObjects } from './values/objects.ts'
import { installOtherPlugins } from './other-plugins.ts'
import { installPlugin } from './plugin.ts'
import { installPollers } from './timing/pollers.ts'
import { installPoints } from './values/points.ts'
import { installSchedules } from './timing/schedules.ts'
import { installTimers } from './timing/timers.ts'
import { installWatches } from './values/watches.ts'
import { installWebHelpers } from './http/web-helpers.ts'

/** One part a file. What a part answers is for the host's side and for other parts. */
const installers = {
  plugin: installPlugin,
  logging: installLogging,
  timers: installTimers,
  pollers: installPollers,
  keyValues: installKeyValues,
  coercion: installCoercion,
  json: installJson,
  webHelpers: installWebHelpers,
  http: installHttp,
  modbus: installModbus,
  objects: installObjects,
  modules: installModules,
  points: installPoints,
  events: installEvents,
  mqtt: installMqtt,
  watches: installWatches,
  connections: installConnections,
  httpHandlers: installHttpHandlers,
  // Those that build on another part.
  otherPlugins: (context: PluginContext, { part }: PluginApi): ReturnType<typeof installOtherPlugins> =>
    installOtherPlugins(context, part('points')),
  exposures: (context: PluginContext, { part }: PluginApi): ReturnType<typeof installExpose> =>
    installExpose(context, part('points')),
  schedules: (context: PluginContext, { part }: PluginApi): ReturnType<typeof installSchedules> =>
    installSchedules(context, part('timers')),
}

type Parts = { [K in PartName]: ReturnType<(typeof installers)[K]> }
type Install = (context: PluginContext, api: PluginApi) => unknown

export interface PluginApi {
  /** Made with the first one who asks. */
  part<K extends PartName>(name: K): Parts[K]
}

/** The tables of the plugin API in a Lua state, and what is in them when somebody uses it. */
export interface ApiTables {
  readonly tables: Readonly<Record<TableName, LuaTable>>
  /** Says how the function of this name is made. */
  implement(name: string, make: () => LuaFunction): void
  /** From now on parts can be made. */
  begin(context: PluginContext): PluginApi
}

export function createApiTables(runtime: LuaRuntime): ApiTables {
  const implementations = new Map<string, () => LuaFunction>()
  let install: ((part: PartName) => void) | undefined

  function make(name: string): LuaFunction {
    const part = partOf.get(name)
    if (part !== undefined && !implementations.has(name)) install?.(part)
    const implementation = implementations.get(name)
    if (implementation === undefined) throw new Error(`no part has the function ${name}`)
    return implementation()
  }

  function tableOf(table: TableName): LuaTable {
    const fields = tableFields[table]
    const made = runtime.provideLibrary(table, fields, (member) => make(String(fields[member])))
    runtime.globals.set(table, made)
    return made
  }

  const tables = Object.fromEntries(
    (Object.keys(tableFields) as TableName[]).map((name) => [name, tableOf(name)]),
  ) as Record<TableName, LuaTable>
  runtime.provideLibrary('globals', globalFunctions, make, runtime.globals)

  return {
    tables,
    implement(name, implementation) {
      if (!partOf.has(name)) throw new Error(`the function ${name} is not listed`)
      implementations.set(name, implementation)
    },
    begin(context) {
      const made: Partial<Parts> = {}
      const api: PluginApi = {
        part(name) {
          if (!Object.hasOwn(made, name)) {
            const install: Install = installers[name]
            Object.assign(made, { [name]: install(context, api) })
          }
          return made[name] as Parts[typeof name]
        },
      }
      install = api.part
      installFormats(context)
      return api
    },
  }
}
