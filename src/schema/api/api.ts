import Type, { type Static } from 'typebox'
import type { Json } from '../../base/text/json.ts'
import { type ProblemCode, problemTable } from '../../base/problem.ts'
import { ExposedState, Exposure } from '../plugin/exposure.ts'
import { FleetHost } from '../plugin/fleet-host.ts'
import { FullId } from '../names/identifier-schema.ts'
import { Origin } from '../journal/journal-event.ts'
import { HookView } from '../outside/hook.ts'
import { Permissions } from '../manifest/permissions.ts'
import { Config, LogEntry, Plugin, PluginError, PluginState } from '../plugin/plugin.ts'
import { Health, SafeMode } from './system.ts'
import { LimitDescription } from '../plugin/plugin-limits.ts'
import { nullable } from '../parsing/nullable.ts'

/**
 * Bodies, queries and answers of the HTTP API (contract, section 3). Requests are checked against these,
 * and the API's description is generated from them.
 */

const problemCodes = Object.keys(problemTable) as ProblemCode[]

/** A misspelled member of a command would be a command that does something else: it is refused by name. */
const strict = { additionalProperties: false }
const Text = nullable(Type.String())
const OptionalText = Type.Optional(
  nullable(Type.String({ minLength: 1, maxLength: 256 }), {
    description: 'A text of 1 to 256 characters, or null',
  }),
)

// Bodies

/** The one command that takes further members: catalogs of others send whole entries. */
export const InstallBody = Type.Object({
  fullId: FullId,
  id: OptionalText,
  repository: OptionalText,
  version: OptionalText,
})
export type InstallBody = Static<typeof InstallBody>
/** Null says the same as leaving the member out. */
export function installRequest({ fullId, id, repository, version }: InstallBody) {
  return {
    fullId,
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof repository === 'string' ? { repository } : {}),
    ...(typeof version === 'string' ? { version } : {}),
  }
}
export const ToggleBody = Type.Object({ enabled: Type.Optional(Type.Boolean()) }, strict)
export const ConfigBody = Type.Object({ config: Config }, strict)
export const RollbackBody = Type.Object({ version: OptionalText }, strict)
export const SafeModeBody = Type.Object(
  {
    enabled: Type.Literal(false, { description: 'Safe mode can only be left; the setting enters it' }),
  },
  strict,
)
/** A number, or null for the default; what is left out is the default too. Bounds: `GET /api/limits`. */
export const LimitsBody = Type.Object({ limits: Type.Record(Type.String(), Type.Unknown()) }, strict)
export const HooksAnswer = Type.Object({ hooks: Type.Array(HookView) })

export const LimitsAnswer = Type.Object({ limits: Type.Array(LimitDescription) })
export const UpdateBody = Type.Object({ version: OptionalText }, strict)
export const LoginBody = Type.Object({ token: Type.String({ minLength: 1, maxLength: 1_024 }) }, strict)
export const EmptyBody = Type.Object({}, strict)
export const ControlBody = Type.Object({ value: Type.Unknown() }, strict)
/** It is a part of an address, which clients tidy up before they send it. */
const RepositoryName = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: String.raw`^(?!\.{1,2}$)[^\p{Cc}\p{Cs}]*$`,
  description: 'A name without control characters and halves of characters, other than "." and ".."',
})
export const RepositoryBody = Type.Object(
  {
    name: RepositoryName,
    url: Type.String({ minLength: 1, maxLength: 2_048 }),
    publicKey: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: 2_048 }), {
        description:
          'The line of a public key of minisign that it is pinned to, or null; without it, a known pin stays',
      }),
    ),
  },
  strict,
)

// Queries

/** Most events or lines in one answer; a longer history is read page by page with `after`. */
const pageLimit = 10_000
const searchText = Type.Optional(Type.String({ maxLength: 256 }))
const limit = Type.Optional(Type.Integer({ minimum: 0, maximum: pageLimit }))
const after = Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))
const pluginFilter = Type.Optional(Type.String({ minLength: 1, maxLength: 256 }))

export const PluginsQuery = Type.Object({
  state: Type.Optional(PluginState),
  tag: searchText,
  q: searchText,
})
export type PluginsQuery = Static<typeof PluginsQuery>
export const UninstallQuery = Type.Object({
  purge: Type.Optional(
    Type.String({ pattern: '^(kv|files)(,(kv|files))*$', description: 'Kv, files, or both with a comma' }),
  ),
})
export const DocumentQuery = Type.Object({
  file: Type.String({ minLength: 1, maxLength: 255 }),
  render: Type.Optional(Type.Literal('html')),
})
export const LogsQuery = Type.Object({ limit, level: Type.Optional(LogEntry.properties.level) })
export const HistoryQuery = Type.Object({ after, limit })
export const CatalogQuery = Type.Object({
  q: searchText,
  repository: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
})
export const EventsQuery = Type.Object({
  plugin: pluginFilter,
  lastEventId: after,
  /** Of a stream where nothing happens an event is sent, too: pages see no comments. */
  beats: Type.Optional(oneOf(['true', 'false'])),
})
export const MachineQuery = Type.Object({
  format: Type.Optional(oneOf(['json', 'mermaid', 'scxml'])),
})

// Answers

export const PluginsAnswer = Type.Object({ plugins: Type.Array(Plugin) })
export const UninstallAnswer = Type.Object({ id: Type.String(), state: Type.Literal('uninstalled') })
export const ConfigCheckAnswer = Type.Object({
  valid: Type.Boolean(),
  errors: Type.Array(Type.Object({ path: Type.String(), message: Type.String() })),
  effective: Config,
})
export type ConfigCheck = Static<typeof ConfigCheckAnswer>
export const LogsAnswer = Type.Object({ logs: Type.Array(LogEntry) })
export const JournalEventAnswer = Type.Object({
  seq: Type.Integer(),
  id: Type.String(),
  at: Type.String({ description: 'ISO 8601, UTC' }),
  type: Type.String(),
  plugin: Text,
  revision: Type.Integer(),
  by: Origin,
  data: Type.Record(Type.String(), Type.Unknown()),
  state: Type.String({ description: 'State of the plugin, or of the host, after the event' }),
  host: nullable(Type.String(), { description: 'The host of the fleet that wrote it' }),
  epoch: nullable(Type.Integer(), { description: 'Under which that host had the plugin' }),
})
export const HistoryAnswer = Type.Object({ events: Type.Array(JournalEventAnswer) })
export const StateAtAnswer = Type.Object({
  seq: Type.Integer(),
  plugins: Type.Array(
    Type.Object({
      id: Type.String(),
      state: PluginState,
      enabled: Type.Boolean(),
      version: Text,
      revision: Type.Integer(),
      error: nullable(PluginError),
    }),
  ),
})
export type PluginStateAt = Static<typeof StateAtAnswer>['plugins'][number]
export const ObjectsAnswer = Type.Object({ objects: Type.Record(Type.String(), Type.Unknown()) })
/** A sensor or a control. */
const Point = Type.Object({
  id: Type.String(),
  value: Type.Unsafe<Json>(Type.Unknown()),
  type: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  unit: Type.Optional(Type.String()),
  range: Type.Optional(Type.String()),
})
export type Point = Static<typeof Point>
export const SensorsAnswer = Type.Object({ sensors: Type.Array(Point) })
export const ControlsAnswer = Type.Object({ controls: Type.Array(Point) })
export const ControlAnswer = Type.Object({ id: Type.String(), value: Type.Unknown() })
export const ExposuresAnswer = Type.Object({
  exposures: Type.Array(Type.Object({ id: Type.String(), exposure: Exposure, state: ExposedState })),
})
export const ExposedAnswer = Type.Object({ id: Type.String(), feature: Type.String(), value: Type.Unknown() })
export const MachineStateAnswer = Type.Object({
  machine: Type.String(),
  state: PluginState,
  nextEvents: Type.Array(Type.String()),
})
export const MachinesAnswer = Type.Object({ machines: Type.Array(Type.String()) })
export const MachineAnswer = Type.Record(Type.String(), Type.Unknown(), {
  description: 'A machine definition as XState takes it; guards and actions by name',
})
const NamespaceHeldBy = nullable(Type.String(), {
  description:
    'Another repository that the namespace belongs to: this one has to be named to install from it',
})
export const CatalogAnswer = Type.Object({
  plugins: Type.Array(
    Type.Object({
      fullId: Type.String(),
      name: Type.String(),
      version: Type.String(),
      description: Text,
      author: Text,
      tags: Type.Array(Type.String()),
      repository: Type.String(),
      namespaceHeldBy: NamespaceHeldBy,
      installedVersion: Text,
      updateAvailable: Type.Boolean(),
      compatible: Type.Boolean(),
      permissions: nullable(Permissions, {
        description: 'What the index says that it may do; null: it says nothing. The manifest counts',
      }),
    }),
  ),
})
export type CatalogEntry = Static<typeof CatalogAnswer>['plugins'][number]
export const RepositoriesAnswer = Type.Object({
  repositories: Type.Array(
    Type.Object({
      name: Type.String(),
      url: Type.String(),
      publicKey: nullable(Type.String(), { description: 'The key that it is pinned to' }),
      signed: Type.Boolean({
        description: 'The index as it was read has a good signature of that key; never without a key',
      }),
      signedAt: nullable(Type.String(), { description: 'When, if the signature says so' }),
      namespace: Text,
      namespaceHeldBy: NamespaceHeldBy,
      plugins: Type.Integer({ description: 'How many plugins its index lists' }),
      error: Text,
    }),
  ),
})
export type Repository = Static<typeof RepositoriesAnswer>['repositories'][number]
export const SessionAnswer = Type.Object({
  required: Type.Boolean({ description: 'The host has a token' }),
  authenticated: Type.Boolean({ description: 'This caller is let in' }),
})
export const LivenessAnswer = Type.Object({ status: Type.Literal('ok'), version: Type.String() })
export const ReadinessAnswer = Type.Object({ ...Health.properties, safeMode: nullable(SafeMode) })
export const SafeModeAnswer = Type.Object({ safeMode: nullable(SafeMode) })
export const VersionsAnswer = Type.Object({
  versions: Type.Array(
    Type.Object({
      version: Type.String(),
      indexVersion: Text,
      repository: Text,
      current: Type.Boolean({ description: 'The one that is installed' }),
      at: Type.String({ description: 'When this version came, or when it was replaced' }),
      available: Type.Boolean({ description: 'Its files are there' }),
      config: Config,
      failed: Type.Optional(Type.Literal(true, { description: 'It did not run, and was left by itself' })),
    }),
    { description: 'The present one, then those that a rollback can return to, the latest first' },
  ),
  trial: Plugin.properties.trial,
})
export type PluginVersions = Static<typeof VersionsAnswer>
export type PluginVersion = PluginVersions['versions'][number]

/** Problem details (RFC 9457) of a refusal or failure. */
export const ProblemAnswer = Type.Object({
  type: Type.String({ description: 'A URN that ends with the code' }),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String({ description: 'What is wrong, and what to do' }),
  instance: Type.Optional(Type.String({ description: 'Path of the request; over MQTT its topic' })),
  code: oneOf(problemCodes),
  errors: Type.Optional(
    Type.Array(
      Type.Object({
        path: Type.String({ description: 'JSON pointer into the body or the query' }),
        message: Type.String(),
      }),
    ),
  ),
})
export const HostsAnswer = Type.Object({ hosts: Type.Array(FleetHost) })
export const DescriptionAnswer = Type.Object({
  openapi: Type.Literal('3.1.0'),
  info: Type.Record(Type.String(), Type.Unknown()),
  paths: Type.Record(Type.String(), Type.Unknown()),
  components: Type.Record(Type.String(), Type.Unknown()),
})

export { ChangeCheck as ChangeCheckAnswer } from '../plugin/change-check.ts'
export { Field as FieldAnswer } from '../manifest/field.ts'
export { FleetHost as HostAnswer, Placement as PlacementBody } from '../plugin/fleet-host.ts'
export {
  LogEntry as LogEntryAnswer,
  Plugin as PluginAnswer,
  PluginState as PluginStateAnswer,
} from '../plugin/plugin.ts'
import { oneOf } from '../parsing/one-of.ts'
