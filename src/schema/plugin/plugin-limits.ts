import Type, { type Static } from 'typebox'
import type { ProblemDetail } from '../../base/problem.ts'
import { isJsonObject } from '../../base/text/json.ts'
import { escapePointer } from '../parsing/json-pointer.ts'
import { nullable } from '../parsing/nullable.ts'
import { oneOf } from '../parsing/one-of.ts'
import { type LimitDefinition, limitDefinitions, noLimit } from './limit-definitions.ts'

/** The limits of one plugin as they are stored, set and shown. */

export type LimitName = keyof typeof limitDefinitions
export const limitNames = Object.keys(limitDefinitions) as LimitName[]
/** To be written behind a number. */
export function limitUnit(name: LimitName): string {
  const { unit } = limitDefinitions[name]
  return unit === 'things' ? '' : ` ${unit}`
}

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
  const entries = limitNames.map((name) => [name, limits[name] === noLimit ? null : limits[name]] as const)
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
