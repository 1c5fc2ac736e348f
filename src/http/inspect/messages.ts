import type { AnyStateMachine } from 'xstate'
import { isJsonObject, type Json } from '../../base/text/json.ts'
import { isSecretName } from '../../base/log/secret-names.ts'
import type { PluginStateAt } from '../../schema/api/api.ts'
import type { JournalEventView } from '../../schema/journal/journal-event.ts'
import { hiddenValue } from '../../schema/plugin/hidden-value.ts'
import { machineToJson } from '../answers/machine-formats.ts'

/** The message shapes of `@statelyai/inspect`, which inspectors of state machines read. Pure. */

/** Version of the message shapes. */
const protocolVersion = '0.7.0'
/** Session of the host's machine, which the plugins' are children of. */
const hostSession = 'host'

interface Common {
  sessionId: string
  rootId: string
  /** Milliseconds since the epoch, as text. */
  createdAt: string
  /** Of this message; the same fact has the same on every connection. */
  id: string
  _version: string
}

export interface InspectedState {
  status: 'active' | 'stopped'
  value: string
  context: Record<string, unknown>
}

export type InspectionMessage = Common &
  (
    | {
        type: '@xstate.actor'
        name: string
        parentId: string | undefined
        /** The machine as JSON text, as `createMachine` takes it. */
        definition: string
        snapshot: InspectedState
      }
    | { type: '@xstate.event'; sourceId: string | undefined; event: { type: string } }
    | { type: '@xstate.snapshot'; event: { type: string }; snapshot: InspectedState }
  )

interface Subject {
  /** Full id of a plugin; null: the host. */
  plugin: string | null
  at: number
  seq: number
}

function common({ plugin, at, seq }: Subject, kind: string): Common {
  const sessionId = plugin ?? hostSession
  return {
    sessionId,
    rootId: hostSession,
    createdAt: String(at),
    id: `${seq}:${sessionId}:${kind}`,
    _version: protocolVersion,
  }
}

/** The text of a machine's definition; the same for all its actors. */
export function definitionOf(machine: AnyStateMachine): string {
  return JSON.stringify(machineToJson(machine))
}

export function actorMessage(
  subject: Subject,
  definition: string,
  snapshot: InspectedState,
): InspectionMessage {
  const { plugin } = subject
  return {
    type: '@xstate.actor',
    ...common(subject, 'actor'),
    name: plugin ?? hostSession,
    parentId: plugin === null ? undefined : hostSession,
    definition,
    snapshot,
  }
}

export function snapshotMessage(
  subject: Subject,
  event: { type: string },
  snapshot: InspectedState,
): InspectionMessage {
  return { type: '@xstate.snapshot', ...common(subject, 'snapshot'), event, snapshot }
}

/** A fact as it reaches its machine; whoever asked for it is in the event, because the host passes all on. */
export function eventMessage(fact: JournalEventView): InspectionMessage {
  const subject = subjectOf(fact)
  const sourceId = fact.plugin === null ? undefined : hostSession
  return { type: '@xstate.event', ...common(subject, 'event'), sourceId, event: eventOf(fact) }
}

export function subjectOf({ plugin, at, seq }: JournalEventView): Subject {
  return { plugin, at: Date.parse(at), seq }
}

/** The fact as the event of its machine. */
export function eventOf({
  type,
  data,
  by,
  at,
  seq,
}: JournalEventView): { type: string } & Record<string, unknown> {
  return { type, seq, at, by, data: withoutSecrets(data) }
}

export function pluginSnapshot(plugin: PluginStateAt): InspectedState {
  const { id, state, enabled, version, revision, error } = plugin
  return {
    status: 'active',
    value: state,
    context: { id, enabled, version, revision, error: withoutSecrets(error) },
  }
}

export function hostSnapshot(state: string, seq: number): InspectedState {
  return { status: 'active', value: state, context: { seq } }
}

// The length of the scheme is bounded, or a long word without one would cost quadratic time.
const credentials = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]+@/gi

/**
 * Configurations come with their secrets hidden already; this looks again, and at addresses with a password
 * in them, because an inspector may be a program of somebody else.
 */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(credentials, `$1${hiddenValue}@`)
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries<Json>(value).map(([key, member]) => [
      key,
      isSecretName(key) && isText(member) ? hiddenValue : withoutSecrets(member),
    ]),
  )
}

function isText(value: Json): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number'
}
