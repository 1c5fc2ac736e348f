import Type, { type Static } from 'typebox'
import { Placement } from '../plugin/fleet-host.ts'
import { FullId } from '../names/identifier-schema.ts'
import { Integrity, SystemBoot, PendingRestart, Release, SafeModeReason } from './journal-event.ts'
import { createParser } from '../parsing/parser.ts'
import { Config, PluginError, PluginState } from '../plugin/plugin.ts'
import { ChosenLimits, ReachedLimit } from '../plugin/plugin-limits.ts'
import { PublicKeyText, SigningTime } from '../manifest/repository-key.ts'
import { nullable } from '../parsing/nullable.ts'
import { oneOf } from '../parsing/one-of.ts'

/** The fold of the journal up to one of its events, as it is stored: at the top of a segment and in the checkpoint. */

const Text = nullable(Type.String())
const Count = Type.Integer({ minimum: 0 })

/** What the machine of a plugin knows (`machines/plugin-lifecycle.ts`). */
export const PluginContext = Type.Object({
  id: FullId,
  enabled: Type.Boolean(),
  /** Installed version, or null while nothing is installed. */
  version: Text,
  /** What the repository's index called that version. */
  indexVersion: Text,
  repository: Text,
  config: Config,
  /** What the host's owner has set for it. They stay when its version changes. */
  limits: ChosenLimits,
  /** What its hook addresses have in them; absent until it has needed one. It stays when its version changes. */
  hookSecret: Type.Optional(Type.Unsafe<string | undefined>(Type.String())),
  /** On which hosts of a fleet it may run; absent: on any. */
  placement: Type.Optional(Type.Unsafe<Placement | undefined>(Placement)),
  /** What versions of it have declared secrets, as pointers; it stays when the plugin is removed, as its history does. */
  formerSecrets: Type.Optional(Type.Unsafe<string[] | undefined>(Type.Array(Type.String()))),
  /** The host of a fleet that has taken it last, and under which epoch. They stay when it is removed: epochs only go up. */
  host: Type.Optional(Type.String()),
  epoch: Type.Optional(Type.Integer({ minimum: 1 })),
  /** Those that it has met since it was loaded last. */
  limitsReached: Type.Array(ReachedLimit),
  integrity: Integrity,
  /** What a rollback can return to, the latest first. */
  kept: Type.Array(
    Type.Intersect([
      Release,
      Type.Object({
        /** When it was replaced, ISO 8601. */
        keptAt: Type.String(),
        /** It did not run, and the version before returned by itself. */
        failed: Type.Optional(Type.Literal(true)),
      }),
    ]),
  ),
  /** Set from an update until the new version has run long enough; `from`: what returns if it does not. */
  trial: nullable(Type.Object({ from: Type.String(), since: Type.String() })),
  /** Crashes without a stable run between them. */
  crashes: Count,
  /** It crashed and is started again. */
  restart: nullable(PendingRestart),
  /** Files that were not as installed when it was last loaded. */
  changedFiles: Type.Array(Type.String()),
  /** Why it is in `failed`, or why the last installation came to nothing. */
  error: nullable(PluginError),
  /** How many facts there have been that changed it: see `keepsRevision` of the facts. */
  revision: Count,
  installedAt: Text,
  updatedAt: Text,
})
export type PluginContext = Static<typeof PluginContext>

export type LastReady = SystemBoot & { unfinishedStarts: number }

/** What the machine of the host knows (`machines/host.ts`). */
export const HostContext = Type.Object({
  /** Name of this host in a fleet; null before the first start. */
  id: Text,
  repositories: Type.Array(
    Type.Object({
      name: Type.String(),
      url: Type.String(),
      /** The index must be signed with it. */
      publicKey: Type.Optional(PublicKeyText),
      /** Latest time of a signature that was seen, in seconds since 1970. */
      signedAt: Type.Optional(SigningTime),
    }),
  ),
  /** Name of the repository that had it first, by namespace. */
  namespaces: Type.Record(Type.String(), Type.String()),
  /** Starts in a row that did not reach `ready`, or were killed for want of memory soon after, the present one included until it is ready. */
  unfinishedStarts: Count,
  /** When this run was ready, and `unfinishedStarts` just before; null, or absent: it is not, or its end counts in no case. */
  lastReady: Type.Optional(
    Type.Unsafe<LastReady | null | undefined>(
      Type.Union([Type.Object({ ...SystemBoot.properties, unfinishedStarts: Count }), Type.Null()]),
    ),
  ),
  /** Why and since when (ISO 8601) no plugin is loaded; null in ordinary operation. */
  safeMode: nullable(Type.Object({ since: Type.String(), reason: SafeModeReason, unfinishedStarts: Count })),
  /** Hosts that were ever started in this fleet, by name, as each said of itself when it was started last; absent where there is none. */
  members: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({
        version: Type.String(),
        /** Base URL of its HTTP API. */
        address: Type.String(),
        labels: Type.Array(Type.String()),
        /** When it was started, ISO 8601. */
        since: Type.String(),
        /** It is to run nothing. */
        draining: Type.Boolean(),
      }),
    ),
  ),
})
export type HostContext = Static<typeof HostContext>

export const StoredState = Type.Object({
  /** Number and id of the last event in it; 0 and null before the first. */
  seq: Count,
  event: Text,
  host: Type.Object({
    value: oneOf(['stopped', 'starting', 'ready', 'stopping']),
    context: HostContext,
  }),
  /** Every plugin there ever was; `last` is the number of its latest event. */
  plugins: Type.Array(Type.Object({ value: PluginState, last: Count, context: PluginContext })),
  /** Request keys with the plugin that each was about, the oldest first. */
  requests: Type.Array(Type.Tuple([Type.String(), Type.String()])),
})
export type StoredState = Static<typeof StoredState>

export const baseVersion = 1

/** `version`: of this form. `fold`: of the rules that made the state (`journal/fold/stored-state.ts`). */
const envelope = { version: Type.Literal(baseVersion), fold: Type.Integer({ minimum: 1 }) }

/** First line of a segment that is not the first: the state of which its events are the continuation. */
export const SegmentBase = Type.Object({ ...envelope, base: StoredState })
export type SegmentBase = Static<typeof SegmentBase>
export const parseSegmentBase = createParser(SegmentBase)

const SegmentEntry = Type.Object({
  first: Type.Integer({ minimum: 1 }),
  last: Count,
  /** Bytes from the beginning of the file, and their SHA-256 in hexadecimal. */
  bytes: Count,
  sha256: Type.String(),
  /** When the file was changed last, as the file system says; null: too lately to tell a later change by it. */
  changed: Text,
  /** Positions in `base.plugins` of those that have an event in it. */
  plugins: Type.Array(Count),
})

/** The checkpoint: the state, and of which bytes of which segments it is the fold. */
export const Checkpoint = Type.Object({
  ...envelope,
  base: StoredState,
  segments: Type.Array(SegmentEntry, { minItems: 1 }),
})
export type Checkpoint = Static<typeof Checkpoint>
export const parseCheckpoint = createParser(Checkpoint)
