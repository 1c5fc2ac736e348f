import Type, { type Static } from 'typebox'
import { ConnectionView } from '../outside/connection.ts'
import { Placement } from './fleet-host.ts'
import { Field } from '../manifest/field.ts'
import { Dependency, Document, Exports } from '../manifest/manifest.ts'
import { Permissions } from '../manifest/permissions.ts'
import { PluginLimitsView, ReachedLimit } from './plugin-limits.ts'
import { EnvironmentUse } from '../parsing/variable-pattern.ts'
import { nullable } from '../parsing/nullable.ts'
import { oneOf } from '../parsing/one-of.ts'

/** What the outside sees of a plugin: the contract's section 3. */

export const pluginStates = [
  'notInstalled',
  'installing',
  'installed',
  'loading',
  'running',
  'unloading',
  'unloaded',
  'failed',
  'uninstalled',
] as const
export type PluginState = (typeof pluginStates)[number]
export const PluginState = oneOf(pluginStates)

/** Why a plugin is not running; `at` is an ISO 8601 time. */
export const PluginError = Type.Object({
  code: Type.String(),
  message: Type.String(),
  at: Type.String(),
  log: Type.Optional(
    Type.Array(Type.Object({ at: Type.String(), level: Type.String(), message: Type.String() }), {
      description: 'The last lines of its log, when it stays down after a crash; oldest first',
    }),
  ),
})
export type PluginError = Static<typeof PluginError>

/** What a loaded plugin holds; all zero when it is not loaded. */
export const Resources = Type.Object({
  timers: Type.Integer(),
  pollers: Type.Integer(),
  eventSubscriptions: Type.Integer(),
  mqttSubscriptions: Type.Integer(),
  objects: Type.Integer(),
  sensors: Type.Integer(),
  controls: Type.Integer(),
  throttles: Type.Integer(),
  httpRequests: Type.Integer(),
  httpHandlers: Type.Integer(),
  sockets: Type.Integer(),
  schedules: Type.Integer(),
  watches: Type.Integer(),
  serialPorts: Type.Integer(),
  discoveries: Type.Integer(),
})
export type Resources = Static<typeof Resources>

export const noResources: Readonly<Resources> = Object.freeze(
  Object.fromEntries(Object.keys(Resources.properties).map((name) => [name, 0])) as Resources,
)

const Text = nullable(Type.String())

export const Config = Type.Record(Type.String(), Type.Unknown())
export type Config = Static<typeof Config>

/** An update that did not stay. */
export const FailedUpdate = Type.Object(
  { version: Type.String(), code: Type.String(), message: Type.String() },
  {
    description:
      'Only in the answer to an update that did not stay: the version that did not run, why, and what to do',
  },
)
export type FailedUpdate = Static<typeof FailedUpdate>

export const Plugin = Type.Object({
  id: Type.String(),
  shortId: Type.String(),
  namespace: Type.String(),
  name: Type.String(),
  version: Type.String(),
  description: Text,
  author: Text,
  homepage: Text,
  license: Text,
  tags: Type.Array(Type.String()),
  repository: Text,
  enabled: Type.Boolean(),
  state: PluginState,
  error: nullable(PluginError),
  crashes: Type.Integer({ description: 'Crashes without a stable run between them' }),
  restart: nullable(
    Type.Object({
      attempt: Type.Integer({ description: 'Counts the restarts in a row, from 1' }),
      delay: Type.Integer({ description: 'Milliseconds from the failure to the restart' }),
    }),
  ),
  trial: nullable(
    Type.Object({
      from: Type.String({ description: 'Version that returns if this one does not run' }),
      since: Type.String({ description: 'ISO 8601, UTC' }),
    }),
  ),
  integrity: Type.Object({
    intact: Type.Boolean({ description: 'At the last load, its files were as they were installed' }),
    changed: Type.Array(Type.String(), { description: 'Files that were changed or missing then' }),
  }),
  config: Config,
  fields: Type.Array(Field),
  exports: Exports,
  docs: Type.Array(Document),
  dependencies: Type.Array(Dependency),
  warnings: Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
    description: 'What is wrong in its manifest, and left out, by JSON pointer',
  }),
  permissions: nullable(Permissions, {
    description: 'null: the manifest declares none, so nothing is refused to the plugin',
  }),
  environment: EnvironmentUse,
  revision: Type.Integer(),
  installedAt: Type.String(),
  updatedAt: Type.String(),
  resources: Resources,
  connections: Type.Optional(
    Type.Array(ConnectionView, {
      description: 'What it keeps open; only where one plugin is asked for, absent when there is nothing',
    }),
  ),
  limits: PluginLimitsView,
  limitsReached: Type.Array(ReachedLimit, { description: 'Since it was loaded last' }),
  host: nullable(Type.String(), { description: 'The host of the fleet that runs it' }),
  epoch: nullable(Type.Integer({ minimum: 1 }), {
    description: 'Goes up each time that another session of a host of the fleet takes it',
  }),
  placement: Placement,
  failedUpdate: Type.Optional(FailedUpdate),
  stale: Type.Optional(
    Type.Boolean({ description: 'true: the fleet cannot be reached, and this is what was known last' }),
  ),
})
export type Plugin = Static<typeof Plugin>

/** How many there are in each state in which there are any; `stale`: those of which only is known how they were. */
export function countByState(plugins: readonly Pick<Plugin, 'state' | 'stale'>[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { state, stale } of plugins) {
    const key = stale === true ? 'stale' : state
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

/** One line of a plugin's log. */
export const LogEntry = Type.Object({
  at: Type.String(),
  level: oneOf(['debug', 'info', 'warn', 'error']),
  message: Type.String(),
  fields: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})
export type LogEntry = Static<typeof LogEntry>
