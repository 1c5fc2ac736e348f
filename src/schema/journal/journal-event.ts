import Type, { type Static, type TObject } from 'typebox'
import { Placement } from '../plugin/fleet-host.ts'
import { Config, PluginError } from '../plugin/plugin.ts'
import { PermissionEntry } from '../manifest/permissions.ts'
import { ChosenLimits } from '../plugin/plugin-limits.ts'
import { PublicKeyText, SigningTime } from '../manifest/repository-key.ts'
import { nullable } from '../parsing/nullable.ts'
import { oneOf } from '../parsing/one-of.ts'

/**
 * The facts of the journal. A fact is in the past tense: it has happened, and nothing refuses it any more.
 * `version` is the version of the shape of all facts; `journal/lines/upcast.ts` lifts older ones.
 */
export const journalFormatVersion = 1

/** What asked for the change. */
export const Origin = oneOf(['http', 'mqtt', 'startup', 'shutdown', 'supervisor', 'file'])
export type Origin = Static<typeof Origin>

/** SHA-256 in hexadecimal of every installed file, by its path in the plugin's directory. */
export const Integrity = Type.Record(Type.String(), Type.String())
export type Integrity = Static<typeof Integrity>

const RepositoryName = nullable(Type.String())

/** What one version of a plugin is. `indexVersion`: what the index called it; it may differ from the manifest. */
const release = {
  version: Type.String(),
  indexVersion: nullable(Type.String()),
  repository: RepositoryName,
  integrity: Integrity,
}

/** Where files came from that were not fetched for an installation or an update. `folder`: they were there. */
export const FilesSource = oneOf(['folder', 'kept', 'repository'])
export type FilesSource = Static<typeof FilesSource>

/** What an update leaves behind for the way back. */
export const Release = Type.Object({ ...release, config: Config })
export type Release = Static<typeof Release>

/** When a plugin that crashed, or could not be fetched, is started again. */
export const PendingRestart = Type.Object({
  attempt: Type.Integer({ minimum: 1, description: 'Counts the restarts in a row, from 1' }),
  delay: Type.Integer({ minimum: 0, description: 'Milliseconds from the failure to the restart' }),
})
export type PendingRestart = Static<typeof PendingRestart>

/** `asked`: by the setting. `unfinishedStarts`: too many starts in a row did not reach ready, or were killed for want of memory soon after. */
export const SafeModeReason = oneOf(['asked', 'unfinishedStarts'])
export type SafeModeReason = Static<typeof SafeModeReason>

/**
 * A moment since the machine was booted: the id that the system gives to this boot, milliseconds since then, and how many processes
 * it has killed since for want of memory.
 */
export const SystemBoot = Type.Object({
  boot: Type.String({ minLength: 1 }),
  uptime: Type.Integer({ minimum: 0 }),
  memoryKills: Type.Integer({ minimum: 0 }),
})
export type SystemBoot = Static<typeof SystemBoot>

const nothing = Type.Object({})
/**
 * On what the host has noticed by itself while the plugin ran: the revision stays, so that whoever is about to
 * change the plugin does not have to read it again. Facts that were written down without it have raised it.
 */
const keepsRevision = { keepsRevision: Type.Optional(Type.Literal(true)) }
const failure = Type.Object({ error: PluginError })
/** The version that was in its place; absent in facts that were written down before this was told. */
const leavesVersion = { from: Type.Optional(nullable(Type.String())) }
/** Pointers to the settings that the version which goes with it declared secrets, or to all texts and numbers where its files are lost; absent where that is known already. */
const leavesSecrets = { formerSecrets: Type.Optional(Type.Array(Type.String())) }

export const pluginFacts = {
  PluginInstallRequested: Type.Object({
    repository: RepositoryName,
    version: nullable(Type.String()),
  }),
  PluginInstallFailed: failure,
  /**
   * `source`: files that were there already, because no repository could be asked for them. `formerSecrets`: what the
   * host has known of the plugin that brings it into a fleet.
   */
  PluginInstalled: Type.Object({
    ...release,
    source: Type.Optional(Type.Literal('folder')),
    ...leavesSecrets,
  }),
  /** `deferred`: in safe mode; it is loaded when that is left. */
  PluginEnabled: Type.Object({ deferred: Type.Optional(Type.Boolean()) }),
  PluginDisabled: nothing,
  PluginConfigured: Type.Object({ config: Config }),
  /** What the host's owner lets it take; all of it, without what is as for every plugin. */
  PluginLimitsChanged: Type.Object({ limits: ChosenLimits }),
  /** The part of its hook addresses that nobody can guess: made once, and renewed when its owner asks for it. */
  PluginHookSecretChanged: Type.Object({ hookSecret: Type.String({ minLength: 1 }), ...keepsRevision }),
  /** A loaded plugin has met one of its limits: at most once for each limit and load. */
  PluginLimitReached: Type.Object({ limit: Type.String(), value: Type.Number(), ...keepsRevision }),
  /** `automatic`: nobody asked for it, so its crashes still count. */
  PluginLoadRequested: Type.Object({ reason: Type.String(), automatic: Type.Optional(Type.Boolean()) }),
  /** `changedFiles`: those that are not as they were installed. */
  PluginLoaded: Type.Object({ changedFiles: Type.Optional(Type.Array(Type.String())) }),
  /** `changedFiles`: as of `PluginLoaded`; without them nobody has looked, or they are those of before. */
  PluginLoadFailed: Type.Object({
    error: PluginError,
    changedFiles: Type.Optional(Type.Array(Type.String())),
    /** Its files are missing, and its repository could not be read. */
    restart: Type.Optional(PendingRestart),
  }),
  PluginUnloadRequested: Type.Object({ reason: Type.String() }),
  PluginUnloaded: Type.Object({ reason: Type.Optional(Type.String()) }),
  PluginCrashed: Type.Object({
    error: PluginError,
    /** Milliseconds since it was loaded. */
    ranFor: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Crashes without a stable run between them, this one included. */
    crashes: Type.Optional(Type.Integer({ minimum: 1 })),
    /** Null: it stays down, or goes back to the version before. */
    restart: Type.Optional(nullable(PendingRestart)),
  }),
  /** It has run long enough: its crashes are forgotten, and the trial of an update is over. */
  PluginStabilized: Type.Object(keepsRevision),
  PluginUpdated: Type.Object({
    ...release,
    ...leavesVersion,
    /** What it may do that the version before it might not; absent when there is nothing. */
    permissionsAdded: Type.Optional(Type.Array(PermissionEntry)),
    ...leavesSecrets,
  }),
  /** A load found no files, or nothing was known of them: what is loaded now, and where it came from. */
  PluginFilesRestored: Type.Object({ ...release, source: FilesSource, ...leavesSecrets }),
  /** An update found what is installed, under a newer version of the index. */
  PluginVersionConfirmed: Type.Object({ indexVersion: Type.String(), ...keepsRevision }),
  /** `version`: which of the kept ones; older facts without it mean the one before. */
  PluginRolledBack: Type.Object({
    reason: Type.String(),
    version: Type.Optional(Type.String()),
    ...leavesVersion,
    /** Nobody asked for it: what it leaves did not run. */
    automatic: Type.Optional(Type.Literal(true)),
    ...leavesSecrets,
  }),
  PluginUninstalled: Type.Object({ purged: Type.Array(Type.String()), ...leavesSecrets }),
  /** On which hosts of the fleet it may run; all of it. */
  PluginPlaced: Type.Object({ placement: Placement }),
  /** Another session of a host of the fleet runs it from now on. `from`: null where nobody had it yet. */
  PluginMoved: Type.Object({
    from: nullable(Type.String()),
    to: Type.String(),
    epoch: Type.Integer({ minimum: 1 }),
    reason: Type.String(),
    ...keepsRevision,
  }),
} as const satisfies Record<string, TObject>

export const hostFacts = {
  /** `afterMemoryKill`: the system killed the run before it for want of memory, soon after that was ready. */
  HostStarted: Type.Object({
    host: Type.String(),
    hostVersion: Type.String(),
    afterMemoryKill: Type.Optional(Type.Literal(true)),
  }),
  /** `machine`: absent where the system does not tell. */
  HostReady: Type.Object({ machine: Type.Optional(SystemBoot) }),
  /** In safe mode no plugin is loaded; a start ends it, unless there is a reason again. */
  HostSafeModeEntered: Type.Object({
    reason: SafeModeReason,
    /** Starts in a row, before this one, that did not reach ready, or were killed for want of memory soon after. */
    unfinishedStarts: Type.Integer({ minimum: 0 }),
  }),
  HostSafeModeLeft: nothing,
  /** `failed`: nobody asked for it, the start went wrong. */
  HostStopping: Type.Object({ failed: Type.Optional(Type.Boolean()) }),
  HostStopped: nothing,
  /** `publicKey`: the index must be signed with it. `signedAt`: when the one that was read was signed. */
  RepositoryAdded: Type.Object({
    name: Type.String(),
    url: Type.String(),
    publicKey: Type.Optional(PublicKeyText),
    signedAt: Type.Optional(SigningTime),
  }),
  /** An index was read that was signed later than all before it; from now on an older one is refused. */
  RepositoryIndexAccepted: Type.Object({ name: Type.String(), signedAt: SigningTime }),
  RepositoryRemoved: Type.Object({ name: Type.String() }),
  /** The first repository that had it, or the one that has it now that the first is gone. */
  NamespaceClaimed: Type.Object({ namespace: Type.String(), repository: Type.String() }),
  /** A host of the fleet has started. `address`: base URL of its HTTP API. */
  HostJoined: Type.Object({
    host: Type.String(),
    hostVersion: Type.String(),
    address: Type.String(),
    labels: Type.Array(Type.String()),
  }),
  /** It is to run nothing any more, until that is taken back. */
  HostDrainRequested: Type.Object({ host: Type.String() }),
  HostDrainEnded: Type.Object({ host: Type.String() }),
} as const satisfies Record<string, TObject>

export type PluginFactType = keyof typeof pluginFacts
export type HostFactType = keyof typeof hostFacts
export type FactType = PluginFactType | HostFactType

export type PluginFact = {
  [T in PluginFactType]: { type: T; plugin: string; data: Static<(typeof pluginFacts)[T]> }
}[PluginFactType]

export type HostFact = {
  [T in HostFactType]: { type: T; plugin: null; data: Static<(typeof hostFacts)[T]> }
}[HostFactType]

/** A change before it is written down. */
export type Fact = PluginFact | HostFact

/** What the journal adds to a fact. Times are ISO 8601 in UTC. */
export const envelope = {
  /** 1 for the first event of the journal, without gaps. */
  seq: Type.Integer({ minimum: 1 }),
  /** A UUID. */
  id: Type.String(),
  at: Type.String(),
  by: Origin,
  /** How many events this plugin has had that changed it, this one included; 0 for host events. */
  revision: Type.Integer({ minimum: 0 }),
  /** State of the plugin (or the host) after this event. */
  state: Type.String(),
  /** `Idempotency-Key` of the request that caused it. */
  requestKey: Type.Optional(Type.String()),
  /** Of a plugin of a fleet: the host that wrote it, and the epoch under which that held the plugin. */
  host: Type.Optional(Type.String()),
  epoch: Type.Optional(Type.Integer({ minimum: 1 })),
}
type Envelope = Static<TObject<typeof envelope>>

export type JournalEvent = Fact & Envelope
/** As callers see it; null: no fleet, or of no plugin. */
export type JournalEventView = Fact & ShownEnvelope
export type PluginEventView = PluginFact & ShownEnvelope
type ShownEnvelope = Omit<Envelope, 'requestKey' | 'host' | 'epoch'> & {
  host: string | null
  epoch: number | null
}
export type PluginJournalEvent = PluginFact & Envelope
