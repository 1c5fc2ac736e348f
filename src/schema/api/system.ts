import Type, { type Static } from 'typebox'
import { SafeModeReason } from '../journal/journal-event.ts'
import { nullable } from '../parsing/nullable.ts'
import { oneOf } from '../parsing/one-of.ts'

/** What the host says of itself. */

/** What one plugin's isolate takes. */
export const IsolateUsage = Type.Object({
  plugin: Type.String(),
  isolation: oneOf(['dedicated', 'shared'], {
    description: 'Whether its worker thread is its own',
  }),
  worker: Type.Integer({ description: 'Number of the worker thread; plugins with the same one share it' }),
  memory: nullable(
    Type.Integer({
      description: "Bytes of the worker's heap and strings, as of its last sign of life; null: not known yet",
    }),
  ),
  memoryLimit: Type.Integer({ description: 'Bytes of heap at which the worker is ended' }),
  load: nullable(Type.Number({ description: 'Share of the time in which the worker was busy, 0 to 1' })),
})
export type IsolateUsage = Static<typeof IsolateUsage>

/** Why no plugin is loaded. */
export const SafeMode = Type.Object({
  since: Type.String({ description: 'ISO 8601, UTC' }),
  reason: Type.String({ description: 'In one sentence' }),
  cause: SafeModeReason,
})
export type SafeMode = Static<typeof SafeMode>

/** The certificate that HTTP and the embedded broker show; null: connections are not encrypted. */
export const Certificate = Type.Object({
  validFrom: Type.String({ description: 'ISO 8601, UTC' }),
  validUntil: Type.String({ description: 'ISO 8601, UTC; of all certificates in the file the first end' }),
  loadedAt: Type.String({ description: 'When it was read, ISO 8601, UTC' }),
  fault: nullable(
    Type.String({ description: 'Why what its files hold now is not in use; null: it is in use' }),
  ),
})
export type Certificate = Static<typeof Certificate>

/** Whether the host does its work; `reasons`: why not, and what is as good as it can be here, one sentence each. */
export const Health = Type.Object({ ready: Type.Boolean(), reasons: Type.Array(Type.String()) })
export type Health = Static<typeof Health>

export const System = Type.Object({
  host: Type.Object({
    id: nullable(Type.String({ description: 'null while the host is starting' })),
    startedAt: Type.String({ description: 'ISO 8601, UTC' }),
    uptime: Type.Number({ description: 'Seconds' }),
    safeMode: nullable(SafeMode),
  }),
  fleet: nullable(
    Type.Object({ name: Type.String() }, { description: 'The hosts that this one works with; null: none' }),
  ),
  versions: Type.Object({
    host: Type.String(),
    node: Type.String(),
    v8: Type.String(),
    platform: Type.String(),
    architecture: Type.String(),
  }),
  process: Type.Object({
    memory: Type.Integer({ description: 'Resident bytes of the whole process' }),
    heap: Type.Integer({ description: "Bytes of the host's own heap in use" }),
    cpuSeconds: Type.Number({ description: 'Of all threads, since the start' }),
    eventLoopDelay: Type.Number({ description: 'Seconds, 99th percentile of about the last minute' }),
  }),
  broker: Type.Object({
    kind: oneOf(['embedded', 'external']),
    url: Type.String({ description: 'Without user name and password' }),
    connected: Type.Boolean(),
    clients: nullable(Type.Integer({ description: 'null: an external broker does not say' })),
    messages: Type.Object({ received: Type.Integer(), published: Type.Integer() }),
  }),
  http: Type.Object({
    url: Type.String(),
    eventStreams: Type.Integer({ description: 'Clients of GET /api/events' }),
    inspectors: Type.Integer({ description: 'Clients of GET /api/inspect' }),
  }),
  certificate: nullable(Certificate),
  journal: Type.Object({ seq: Type.Integer() }),
  plugins: Type.Record(Type.String(), Type.Integer(), {
    description:
      'How many are in each state; `stale`: of how many is only known how they were, as the fleet cannot be reached',
  }),
  isolates: Type.Array(IsolateUsage),
  health: Health,
})
export type System = Static<typeof System>
