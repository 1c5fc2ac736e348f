import Type, { type Static } from 'typebox'
import { Placement } from '../plugin/fleet-host.ts'
import { FullId } from '../names/identifier-schema.ts'
import { Integrity, PendingRestart, Release, SafeModeReason } from './journal-event.ts'
import { createParser } from '../parsing/parser.ts'
import { Config, PluginError, PluginState } from '../plugin/plugin.ts'
import { ChosenLimits, ReachedLimit } from '../plugin/plugin-limits.ts'
import { PublicKeyText, SigningTime } from '../manifest/repository-key.ts'

/** The fold of the journal up to one of its events, as it is stored: at the top of a segment and in the checkpoint. */

const Text = Type.Union([Type.String(), Type.Null()])
const Count = Type.Integer({ minimum: 0 })

/** Members as in the context of `machines/plugin-lifecycle.ts`. */
const PluginContext = Type.Object({
  id: FullId,
  enabled: Type.Boolean(),
  version: Text,
  indexVersion: Text,
  repository: Text,
  config: Config,
  limits: ChosenLimits,
  hookSecret: Type.Optional(Type.Unsafe<string | undefined>(Type.String())),
  placement: Type.Optional(Type.Unsafe<Placement | undefined>(Placement)),
  formerSecrets: Type.Optional(Type.Unsafe<string[] | undefined>(Type.Array(Type.String()))),
  host: Type.Optional(Type.String()),
  epoch: Type.Optional(Type.Integer({ minimum: 1 })),
  limitsReached: Type.Array(ReachedLimit),
  integrity: Integrity,
  kept: Type.Array(
    Type.Intersect([
      Release,
      Type.Object({ keptAt: Type.String(), failed: Type.Optional(Type.Literal(true)) }),
    ]),
  ),
  trial: Type.Union([Type.Object({ from: Type.String(), since: Type.String() }), Type.Null()]),
  crashes: Count,
  restart: Type.Union([PendingRestart, Type.Null()]),
  changedFiles: Type.Array(Type.String()),
  error: Type.Union([PluginError, Type.Null()]),
  revision: Count,
  installedAt: Text,
  updatedAt: Text,
})

/** Members as in the context of `machines/host.ts`. */
const HostContext = Type.Object({
  id: Text,
  repositories: Type.Array(
    Type.Object({
      name: Type.String(),
      url: Type.String(),
      publicKey: Type.Optional(PublicKeyText),
      signedAt: Type.Optional(SigningTime),
    }),
  ),
  namespaces: Type.Record(Type.String(), Type.String()),
  unfinishedStarts: Count,
  safeMode: Type.Union([
    Type.Object({ since: Type.String(), reason: SafeModeReason, unfinishedStarts: Count }),
    Type.Null(),
  ]),
  members: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({
        version: Type.String(),
        address: Type.String(),
        labels: Type.Array(Type.String()),
        since: Type.String(),
        draining: Type.Boolean(),
      }),
    ),
  ),
})

const hostStates = ['stopped', 'starting', 'ready', 'stopping'] as const

export const StoredState = Type.Object({
  /** Number and id of the last event in it; 0 and null before the first. */
  seq: Count,
  event: Text,
  host: Type.Object({
    value: Type.Unsafe<(typeof hostStates)[number]>(
      Type.Union(hostStates.map((state) => Type.Literal(state))),
    ),
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
