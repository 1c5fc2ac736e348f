import Type, { type Static } from 'typebox'
import type { ProblemDetail } from '../../base/problem.ts'
import { isJsonObject } from '../../base/text/json.ts'
import { escapePointer } from '../parsing/json-pointer.ts'
import { nullable } from '../parsing/nullable.ts'
import { oneOf } from '../parsing/one-of.ts'

/** The limits of one plugin that the host's owner may set. What is not here is for `sandbox/limits.ts` to say. */

interface LimitDefinition {
  /** What the number counts. */
  unit: 'MB' | 'bytes' | 'ms' | 'per second' | 'things'
  default: number
  /** Least and most that an owner may choose; whole numbers. */
  min: number
  max: number
  /** What the plugin meets at it. */
  description: string
}

/** No limit, unless the owner sets one. */
const none = Number.POSITIVE_INFINITY
const kibi = 1024
const mebi = 1024 * 1024

export const limitDefinitions = {
  // An idle plugin takes about 12.
  memory: of('MB', 128, 24, 4_096, 'Heap of its worker: tables, functions and the like; more ends it'),
  // More than any page or payload that a plugin may fetch.
  stringBytes: of('bytes', 16 * mebi, 64 * kibi, 256 * mebi, 'One Lua string; a longer one is an error'),
  callbackTime: of('ms', 5_000, 100, 60_000, 'Lua in one callback, or one call of another plugin'),
  loadTime: of('ms', 20_000, 500, 300_000, 'Lua in init.lua and onInit'),
  // Whoever asks for much gets what others leave (`sandbox/flow/scheduler.ts`), so nobody has to be held back for them.
  operationsPerSecond: of(
    'per second',
    none,
    10,
    100_000,
    'Log lines, events, messages, objects, requests and questions in the long run, and deliveries that follow; more waits',
  ),
  // What a large plugin creates in its onInit. Without the limit above it has no effect.
  operationBurst: of('things', 10_000, 10, 1_000_000, 'The same at once, after a rest'),
  bytesPerSecond: of('bytes', none, kibi, 256 * mebi, 'The same in bytes, a second'),
  httpRequests: of('things', 8, 1, 100, 'HTTP requests under way; a thousand more wait'),
  sockets: of('things', 64, 0, 10_000, 'Open WebSockets, streams over HTTP, TCP and UDP sockets'),
  serialPorts: of('things', 16, 0, 256, 'Open serial ports'),
  discoveries: of('things', 16, 0, 256, 'Searches of the network'),
  keyValueBytes: of('bytes', mebi, kibi, 64 * mebi, 'Stored values, keys and values as JSON'),
  timers: of('things', 10_000, 0, 1_000_000, 'Timers at one time'),
  pollers: of('things', 1_000, 0, 100_000, 'Pollers at work at one time'),
  eventSubscriptions: of('things', 10_000, 0, 1_000_000, 'Event listeners'),
  // As many as a client of the broker: a message may go to each.
  mqttSubscriptions: of('things', 200, 0, 10_000, 'MQTT subscriptions'),
  httpHandlers: of('things', 100, 0, 10_000, 'Handlers of requests from outside'),
  objects: of('things', 10_000, 0, 1_000_000, 'Objects'),
  sensors: of('things', 10_000, 0, 1_000_000, 'Sensors'),
  controls: of('things', 10_000, 0, 1_000_000, 'Controls'),
  // Each is an entity of Home Assistant's.
  exposures: of('things', 1_000, 0, 100_000, 'Exposed objects'),
  schedules: of('things', 1_000, 0, 100_000, 'Times at which something is done'),
  watchers: of('things', 1_000, 0, 100_000, 'Watched patterns of objects and sensors'),
  throttles: of('things', 10_000, 0, 1_000_000, 'Open throttle windows'),
} as const satisfies Record<string, LimitDefinition>

function of(
  unit: LimitDefinition['unit'],
  fallback: number,
  min: number,
  max: number,
  description: string,
): LimitDefinition {
  return { unit, default: fallback, min, max, description }
}

/** To be written behind a number. */
export function limitUnit(name: LimitName): string {
  const { unit } = limitDefinitions[name]
  return unit === 'things' ? '' : ` ${unit}`
}

export type LimitName = keyof typeof limitDefinitions
export const limitNames = Object.keys(limitDefinitions) as LimitName[]
/** `Infinity`: no limit. */
export type PluginLimits = Record<LimitName, number>
/** The same in JSON; null: no limit. */
export type ShownLimits = Record<LimitName, number | null>
/** What an owner has set. */
export type ChosenLimits = Partial<PluginLimits>

export const defaultPluginLimits: Readonly<PluginLimits> = Object.freeze(
  Object.fromEntries(limitNames.map((name) => [name, limitDefinitions[name].default])) as PluginLimits,
)

export function shownLimits(limits: PluginLimits): ShownLimits {
  const entries = limitNames.map((name) => [name, limits[name] === none ? null : limits[name]] as const)
  return Object.fromEntries(entries) as ShownLimits
}

/**
 * Those that only a worker of its own can keep: a plugin for which one of them is set has one, also where plugins
 * share workers. For one that shares, what its neighbours and it may take together holds instead.
 */
export const workersOwnLimits = ['memory'] as const satisfies LimitName[]

const eachLimit = <S extends Type.TSchema>(schema: (definition: LimitDefinition) => S) =>
  Object.fromEntries(limitNames.map((name) => [name, schema(limitDefinitions[name])])) as Record<LimitName, S>

/** As it is stored; bounds are checked where it comes in, so that an older choice stays readable. */
export const ChosenLimits = Type.Unsafe<ChosenLimits>(
  Type.Object(eachLimit(() => Type.Optional(Type.Integer({ minimum: 0 })))),
)

const inForce = Type.Unsafe<ShownLimits>(
  Type.Object(
    eachLimit(({ description, unit }) =>
      nullable(Type.Integer(), { description: `${description} (${unit}); null: no limit` }),
    ),
  ),
)

/** What a plugin may take, as callers see it. */
export const PluginLimitsView = Type.Object({
  effective: inForce,
  set: Type.Unsafe<ChosenLimits>({ ...ChosenLimits, description: 'Those of them that the owner has set' }),
  notOwn: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Those of them that do not hold for the plugin alone, because it runs in a worker that it shares; setting one of them gives it a worker of its own',
    }),
  ),
})
export type PluginLimitsView = Static<typeof PluginLimitsView>

export const LimitName = oneOf(limitNames)

/** A limit that a plugin has met since it was loaded last; `at` is an ISO 8601 time. */
export const ReachedLimit = Type.Object({ limit: Type.String(), value: Type.Number(), at: Type.String() })
export type ReachedLimit = Static<typeof ReachedLimit>

export const LimitDescription = Type.Object({
  name: Type.String(),
  unit: Type.String(),
  description: Type.String(),
  default: nullable(Type.Integer(), { description: 'On this host; null: no limit' }),
  min: Type.Integer(),
  max: Type.Integer(),
})
export type LimitDescription = Static<typeof LimitDescription>

/** What was chosen, without what is null; and what is wrong with it. `at`: a JSON pointer to where it was. */
export function readChosenLimits(
  given: unknown,
  at: string,
): { chosen: ChosenLimits; errors: ProblemDetail[] } {
  const errors: ProblemDetail[] = []
  const chosen: ChosenLimits = {}
  if (!isJsonObject(given)) return { chosen, errors: [{ path: at, message: 'must be an object' }] }
  const names: ReadonlySet<string> = new Set(limitNames)
  for (const [name, value] of Object.entries(given)) {
    const path = `${at}/${escapePointer(name)}`
    if (!names.has(name)) {
      errors.push({ path, message: `is no limit; there are ${limitNames.join(', ')}` })
      continue
    }
    if (value === null) continue
    const { min, max } = limitDefinitions[name as LimitName]
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
      errors.push({ path, message: `must be a whole number from ${min} to ${max}, or null for the default` })
    } else chosen[name as LimitName] = value
  }
  return { chosen, errors }
}
