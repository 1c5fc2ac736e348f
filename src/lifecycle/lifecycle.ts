import type { Json } from '../base/text/json.ts'
import type { SerializedJson } from '../base/text/serialized-json.ts'
import type { ChangeCheck } from '../schema/plugin/change-check.ts'
import type { ConnectionTraffic, ConnectionView } from '../schema/outside/connection.ts'
import type { ExposedState, Exposure } from '../schema/plugin/exposure.ts'
import type { HookAuth, HookOutcome, HookRequest, HookView } from '../schema/outside/hook.ts'
import type { JournalEventView, Origin } from '../schema/journal/journal-event.ts'
import type { Config, LogEntry, Plugin, PluginState } from '../schema/plugin/plugin.ts'
import type { SuggestionKind } from '../schema/manifest/field-definition.ts'
import type { Suggestion } from '../schema/manifest/suggestion.ts'
import type {
  CatalogEntry,
  ConfigCheck,
  PluginStateAt,
  PluginVersions,
  Point,
  Repository,
} from '../schema/api/api.ts'
import type { SafeMode } from '../schema/api/system.ts'
import type { PluginLimits } from '../schema/plugin/plugin-limits.ts'
import type { RefusalCount } from './permissions/refusals.ts'

/** Commands and questions about plugins, for HTTP, MQTT and the start-up. Everything throws `Problem`s. */

/** Who asks, and under which conditions. */
export interface CommandContext {
  by: Origin
  /** From `If-Match`: the revision that the caller has seen. */
  expectedRevision?: number | undefined
  /** From `Idempotency-Key`. Written into the facts, so that a repetition is known after a restart too. */
  requestKey?: string | undefined
}

/** The turn of a command among those for its plugin. */
export interface ReleasableTurn {
  /**
   * Lets others have their turn while `work` is done, which changes nothing of the plugin. Afterwards the plugin may be another
   * than before. Throws what refuses the command by then; `undo` gets what has come of the work in that case.
   */
  whileReleased<T>(work: () => Promise<T>, undo: (done: T) => Promise<void>): Promise<T>
}

export interface InstallRequest {
  fullId: string
  id?: string
  repository?: string
  version?: string
}

export type PurgeTarget = 'kv' | 'files'

/** What a plugin exposes, as callers see it; an event has no state. */
export interface ExposureView {
  readonly id: string
  readonly exposure: Exposure
  readonly state: ExposedState
}

export interface PluginDocument {
  content: Uint8Array
  /** File name as the manifest has it. */
  file: string
  title: string
}

/** What the host tells whoever listens: the event stream, MQTT, the inspector. Secrets are hidden. */
export type Announcement =
  | { kind: 'lifecycle'; event: JournalEventView }
  | { kind: 'log'; plugin: string; line: SerializedJson<LogEntry> }
  | {
      kind: 'event'
      plugin: string
      name: string
      data: SerializedJson
      qos: 0 | 1 | 2
      retain: boolean
      /** The plugin that has emitted it through this one's instance. */
      caller?: string | undefined
    }
  /** Without `value`: the object is removed. */
  | { kind: 'object'; plugin: string; path: string; value: SerializedJson | undefined }
  | {
      kind: 'sensor' | 'control'
      plugin: string
      id: string
      /** Undefined: nobody knows one at present, or it is removed. */
      value: SerializedJson | undefined
      removed: boolean
    }
  /** Without `exposure`: it is not exposed any more. */
  | { kind: 'exposure'; plugin: string; id: string; exposure: Exposure | undefined }
  /** All values of an exposure; of an event, what has just happened. */
  | { kind: 'exposed'; plugin: string; id: string; exposure: Exposure; state: SerializedJson }

/** A handler of a plugin, for a request from outside. */
export interface FoundHook {
  auth: HookAuth
  /** Undefined: all. */
  methods: readonly string[] | undefined
  /** Full id. */
  plugin: string
  /** Resolves when the plugin is done with it; `signal` says that nobody waits any more. Never rejects. */
  take(request: HookRequest, signal: AbortSignal): Promise<HookOutcome>
}

export type PluginStatus = Pick<Plugin, 'state' | 'enabled' | 'version' | 'error' | 'host' | 'epoch'>

export interface Lifecycle {
  /** The full id of any accepted form. Throws `plugin_not_installed`, `ambiguous_id`. */
  resolveId(text: string): string

  list(): Plugin[]
  get(id: string): Plugin
  /** The little of it that changes with each fact, without making all of the rest; undefined: it is not installed. */
  status(id: string): PluginStatus | undefined
  /** False while what a plugin shows is being taken back, or is gone, though its state may not say so yet: its worker has ended by itself. */
  isIntact(id: string): boolean
  /** What a plugin keeps open to machines elsewhere, now. */
  connections(id: string): ConnectionView[]
  install(request: InstallRequest, context: CommandContext): Promise<Plugin>
  /** What `install` would bring. Throws what it would throw, save what `problems` of the answer tells. */
  checkInstall(request: InstallRequest): Promise<ChangeCheck>
  /** What `update` would bring, as `checkInstall`. */
  checkUpdate(id: string, version: string | undefined): Promise<ChangeCheck>
  toggle(id: string, enabled: boolean | undefined, context: CommandContext): Promise<Plugin>
  configure(id: string, config: Config, context: CommandContext): Promise<Plugin>
  checkConfig(id: string, config: Config): ConfigCheck
  /** What the host knows, for settings that say `suggest`. */
  suggestions(kind: SuggestionKind): Promise<Suggestion[]>
  /** Replaces what is set for this plugin, and loads it anew if it is enabled. Throws `limits_invalid`. */
  limit(id: string, limits: unknown, context: CommandContext): Promise<Plugin>
  /** What a plugin may take for which nothing is set. */
  readonly limits: PluginLimits
  reload(id: string, context: CommandContext): Promise<Plugin>
  update(id: string, version: string | undefined, context: CommandContext): Promise<Plugin>
  /** Without a version: to the one before. */
  rollback(id: string, version: string | undefined, context: CommandContext): Promise<Plugin>
  /** The present version and those that a rollback can return to, the latest first. */
  versions(id: string): Promise<PluginVersions>
  uninstall(
    id: string,
    purge: readonly PurgeTarget[],
    context: CommandContext,
  ): Promise<{ id: string; state: 'uninstalled' }>

  document(id: string, file: string): Promise<PluginDocument>
  logs(id: string, filter: { limit?: number; level?: LogEntry['level'] }): LogEntry[]
  objects(id: string): Record<string, Json>
  sensors(id: string): Point[]
  controls(id: string): Point[]
  /** What a text that is set is read as, by the manifest or how the control is exposed; undefined: nobody says. */
  controlType(id: string, control: string): string | undefined
  /** `from`: where that comes from, for the log of the plugin: `over HTTP`. */
  setControl(id: string, control: string, value: Json, from?: string): Promise<{ id: string; value: Json }>
  exposures(id: string): ExposureView[]
  /** Sets a feature of an exposure. Throws `control_unknown`, `control_value_invalid`. */
  setExposed(id: string, exposure: string, feature: string, value: Json, from?: string): Promise<void>

  /** Where a running plugin can be asked from outside, with the secret parts. */
  hooks(id: string): HookView[]
  /** `rest`: what stands behind the short id in the address, decoded. Undefined: there is nothing at it. */
  findHook(namespace: string, shortId: string, rest: string): FoundHook | undefined
  /** The addresses with a secret part get another one; the old ones are gone. Nothing is reloaded. */
  renewHookSecret(id: string, context: CommandContext): Promise<Plugin>

  /**
   * Events of one plugin (also one that was uninstalled), or of the host and all plugins. Oldest first. Large ones
   * may be fewer than asked for: read on after the last one until there is none.
   */
  history(filter: { plugin?: string | undefined; after?: number; limit?: number }): JournalEventView[]
  /** State of every plugin right after the event with this number. Throws `not_found`. */
  stateAt(seq: number): { seq: number; plugins: PluginStateAt[] }
  /** `nextEvents`: facts that the machine would take now. */
  machineState(id: string): { machine: string; state: PluginState; nextEvents: string[] }

  catalog(filter: { text?: string | undefined; repository?: string | undefined }): Promise<CatalogEntry[]>
  repositories(): Promise<Repository[]>
  /** `publicKey`: pins it to this key of minisign; without it, one that is pinned stays so. */
  addRepository(
    repository: { name: string; url: string; publicKey?: string | null },
    context: CommandContext,
  ): Promise<Repository>
  removeRepository(name: string, context: CommandContext): Promise<void>

  /** How often plugins were refused what their manifests do not list, since the start. */
  refusals(): RefusalCount[]
  /** Bytes that the plugins' connections have carried since the start. */
  traffic(): ConnectionTraffic[]
  /**
   * The plugin of a command that a request with this key has caused before, if any. `finish` makes up for what the disk refused
   * of it, and rejects with `storage_full` when it still does.
   */
  recallRequest(requestKey: string): { plugin: string; finish(): Promise<void> } | undefined
  /** Listens to all announcements, in order. Returns the way to stop. */
  subscribe(listener: (announcement: Announcement) => void): () => void
  /** Why no plugin is loaded; null in ordinary operation. */
  readonly safeMode: SafeMode | null
  /** Loads what is enabled, if the host is in safe mode. */
  leaveSafeMode(context: CommandContext): Promise<void>
  /** Number of the first journal event that is here, and of the last. */
  readonly firstSeq: number
  readonly lastSeq: number
}
